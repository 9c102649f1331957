# SPDX-License-Identifier: MIT
"""Networks of the zoo, and Inception v1, in symmetric bytes by dnncc's own calibration on two inputs; ranges are kept in build/zoo/sections."""
import sys

import numpy as np

import dnncc

sys.path.insert(0, str(dnncc.ROOT / "test" / "bench"))
import zoo                                                      # noqa: E402
from zoo import graph                                           # noqa: E402
from zoo.layers import classify, concat, convolve_norm, max_pool        # noqa: E402

FOLDER = zoo.FOLDER / "sections"
MOST = {"inception_v1": 1.8}    # of the bound; 1.25 elsewhere


def block(g, x, name, one, three, five, pool):
    """of Inception v1 (Szegedy et al. 2015), with batch norms"""
    with g.scope(name):
        return concat(g, convolve_norm(g, x, "1x1", one, 1), convolve_norm(g, convolve_norm(g, x, "3x3r", three[0], 1), "3x3", three[1], 3),
                      convolve_norm(g, convolve_norm(g, x, "5x5r", five[0], 1), "5x5", five[1], 5),
                      convolve_norm(g, max_pool(g, x, 3, 1, 1), "pool", pool, 1))


STAGES = (("3a", 64, (96, 128), (16, 32), 32), ("3b", 128, (128, 192), (32, 96), 64), ("",), ("4a", 192, (96, 208), (16, 48), 64),
          ("4b", 160, (112, 224), (24, 64), 64), ("4c", 128, (128, 256), (24, 64), 64), ("4d", 112, (144, 288), (32, 64), 64),
          ("4e", 256, (160, 320), (32, 128), 128), ("",), ("5a", 256, (160, 320), (32, 128), 128), ("5b", 384, (192, 384), (48, 128), 128))


def inception_v1(g):
    x = max_pool(g, convolve_norm(g, g.inputs["image"], "conv1", 64, 7, 2), 3, 2, ceil=1)
    x = max_pool(g, convolve_norm(g, convolve_norm(g, x, "conv2r", 64, 1), "conv2", 192, 3), 3, 2, ceil=1)
    for name, *widths in STAGES:
        x = block(g, x, name, *widths) if name else max_pool(g, x, 3, 2, ceil=1)
    classify(g, x)


def given(name, seed):
    if name != "inception_v1":
        return zoo.inputs(name, seed)
    return {"image": zoo.image(np.random.default_rng(seed), (1, 3, 224, 224))}


def build(name):
    if name != "inception_v1":
        return zoo.build(name)
    path = FOLDER / f"{name}.onnx"
    if not path.exists():
        g = graph.Graph(name, given(name, 0), 13)
        inception_v1(g)
        g.save(path, None)
    return path


def quantized(name):
    """(model, options)"""
    FOLDER.mkdir(parents=True, exist_ok=True)
    model, ranges = build(name), FOLDER / f"{name}.ranges"
    if not ranges.exists():
        samples = [given(name, seed) for seed in (100, 101)]
        np.savez(FOLDER / f"{name}.npz", **{k: np.concatenate([s[k] for s in samples]) for k in samples[0]})
        done = dnncc.run([dnncc.DNNCC, model, f"--calibrate={FOLDER / name}.npz", "-q", "-o", ranges], timeout=600)
        assert done.returncode == 0, done.stderr
    return model, (f"--quantize={ranges}", "--activations=s8-symmetric")


def inputs(name):
    return list(given(name, 1).values())
