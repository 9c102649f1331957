# SPDX-License-Identifier: MIT
"""Models with an answer per pixel or per place: a U-Net and a detector."""
import numpy as np

from .layers import add, concat, convolve, convolve_norm, max_pool, reshape, silu, transpose


# ---- U-Net (Ronneberger et al. 2015), padded, 32 channels wide, with batch norms: the one of PyTorch Hub ----

def double(g, x, name, width):
    return convolve_norm(g, convolve_norm(g, x, f"{name}.1", width, 3), f"{name}.2", width, 3)


def up_convolve(g, x, name, out):
    w = g.normal(f"{name}.weight", (x.shape[1], out, 2, 2), (2 / x.shape[1]) ** 0.5)
    return g.op("ConvTranspose", x, w, g.normal(f"{name}.bias", out, 0.05), name=name, kernel_shape=[2, 2], strides=[2, 2])


def unet(g):
    x, skips = g.inputs["image"], []
    for level in range(4):
        skips.append(double(g, x, f"encoder{level + 1}", 32 << level))
        x = max_pool(g, skips[-1], 2, 2)
    x = double(g, x, "bottleneck", 512)
    for level in reversed(range(4)):
        x = up_convolve(g, x, f"up{level + 1}", 32 << level)
        x = double(g, concat(g, x, skips[level]), f"decoder{level + 1}", 32 << level)
    g.output(g.op("Sigmoid", convolve(g, x, "last", 1, 1, bias=True, gain=1)), "mask")


# ---- YOLOv8n, 80 classes, boxes decoded, no NMS ----

CLASSES, BINS = 80, 16


def unit(g, x, name, out, kernel=1, stride=1):
    return convolve_norm(g, x, name, out, kernel, stride, act=silu, epsilon=1e-3)


def c2f(g, x, name, out, count, shortcut):
    with g.scope(name):
        half = out // 2
        parts = g.op("Split", unit(g, x, "cv1", out), g.ints(half, half), outputs=2, axis=1)
        for k in range(count):
            y = unit(g, unit(g, parts[-1], f"m{k}.cv1", half, 3), f"m{k}.cv2", half, 3)
            parts.append(add(g, parts[-1], y) if shortcut else y)
        return unit(g, concat(g, *parts), "cv2", out)


def sppf(g, x, name):
    with g.scope(name):
        out = x.shape[1]
        parts = [unit(g, x, "cv1", out // 2)]
        for _ in range(3):
            parts.append(max_pool(g, parts[-1], 5, 1, 2))
        return unit(g, concat(g, *parts), "cv2", out)


def upsample(g, x):
    scales = g.constant(np.array([1, 1, 2, 2], np.float32), "scales")
    return g.op("Resize", x, None, scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def head(g, x, name, width, out):
    """of one level: <1 x out x places>"""
    with g.scope(name):
        return convolve(g, unit(g, unit(g, x, "1", width, 3), "2", width, 3), "3", out, 1, bias=True, gain=1)


def anchors(levels, size):
    """centres of all places and their strides: <1 x 2 x places>, <1 x places>"""
    centres, strides = [], []
    for x in levels:
        rows, columns = x.shape[2:]
        grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows))).reshape(2, -1) + 0.5
        centres.append(grid)
        strides.append(np.full(rows * columns, size / rows))
    return np.concatenate(centres, 1)[None].astype(np.float32), np.concatenate(strides)[None].astype(np.float32)


def decode(g, levels):
    size = g.inputs["image"].shape[2]
    flat = [reshape(g, concat(g, head(g, x, f"box{k}", 64, 4 * BINS), head(g, x, f"class{k}", 80, CLASSES)), 1, 4 * BINS + CLASSES, -1)
            for k, x in enumerate(levels)]
    boxes, classes = g.op("Split", concat(g, *flat, axis=2), g.ints(4 * BINS, CLASSES), outputs=2, axis=1)
    # a distance is the mean of a distribution over 16 bins
    bins = g.op("Softmax", transpose(g, reshape(g, boxes, 1, 4, BINS, -1), 0, 2, 1, 3), axis=1)
    mean = g.parameter("dfl.weight", np.arange(BINS).reshape(1, BINS, 1, 1))
    sides = reshape(g, g.op("Conv", bins, mean, name="dfl", kernel_shape=[1, 1]), 1, 4, -1)
    centre, stride = anchors(levels, size)
    centre = g.constant(centre, "anchors")
    low = g.op("Sub", centre, g.op("Slice", sides, g.ints(0), g.ints(2), g.ints(1)))
    high = g.op("Add", centre, g.op("Slice", sides, g.ints(2), g.ints(4), g.ints(1)))
    middle = g.op("Div", g.op("Add", low, high), g.scalar(2))
    boxes = g.op("Mul", concat(g, middle, g.op("Sub", high, low)), g.constant(stride, "strides"))
    g.output(concat(g, boxes, g.op("Sigmoid", classes)), "detections")


def yolo(g):
    x = unit(g, unit(g, g.inputs["image"], "0", 16, 3, 2), "1", 32, 3, 2)
    x = unit(g, c2f(g, x, "2", 32, 1, True), "3", 64, 3, 2)
    fine = c2f(g, x, "4", 64, 2, True)
    middle = c2f(g, unit(g, fine, "5", 128, 3, 2), "6", 128, 2, True)
    coarse = sppf(g, c2f(g, unit(g, middle, "7", 256, 3, 2), "8", 256, 1, True), "9")
    up = c2f(g, concat(g, upsample(g, coarse), middle), "12", 128, 1, False)
    p3 = c2f(g, concat(g, upsample(g, up), fine), "15", 64, 1, False)
    p4 = c2f(g, concat(g, unit(g, p3, "16", 64, 3, 2), up), "18", 128, 1, False)
    p5 = c2f(g, concat(g, unit(g, p4, "19", 128, 3, 2), coarse), "21", 256, 1, False)
    decode(g, [p3, p4, p5])
