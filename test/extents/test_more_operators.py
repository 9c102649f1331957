# SPDX-License-Identifier: MIT
"""Operators on images, matrices, indices and bytes, over extents that a run gives: each gives what onnxruntime gives, and on targets without vectors the bits of
the code for that extent alone. Pads of SAME follow the extent of the run, also where they are odd in one run and even in another."""
import numpy as np
import pytest
from test_transformer_extents import F32, I8, I32, I64, MS, U8, Case, bytes_, check, floats, numbers, real, save

import dnncc

CASES = []
IMAGE = [dict(B=2, H=5, W=6), dict(B=1, H=6, W=9), dict(B=3, H=9, W=5), dict(B=1, H=8, W=8)]
BATCH = [dict(B=2), dict(B=1), dict(B=9)]
ROWS = [dict(B=2, K=3), dict(B=1, K=1), dict(B=3, K=9)]
STEP, HALF = np.float32(.02), np.uint8(128)


def of(kind, *shape):
    return kind, shape, lambda rng, s: rng.integers(np.iinfo(np.uint8 if kind == U8 else np.int8).min, 127, s)


def distinct(*shape):
    """places of an unpooled image, each once"""
    return I64, shape, lambda rng, s: rng.permutation(4 * int(np.prod(s)))[:int(np.prod(s))].reshape(s)


def orders(kind, *shape):
    """a permutation of each last row"""
    return kind, shape, lambda rng, s: rng.permuted(np.broadcast_to(np.arange(s[-1]), s), axis=-1)


def case(title, op, inputs, extents, domain="", outputs=1, opset=20, slack=1e-4, **attributes):
    CASES.append(Case(title, op, domain, inputs, attributes, outputs, opset, extents, slack))


X = real("B", 3, "H", "W")
for pad in "SAME_UPPER", "SAME_LOWER":
    for kernel, strides, dilations in ((3, 3), (2, 2), (1, 1)), ((2, 5), (2, 3), (1, 1)), ((1, 3), (2, 1), (1, 2)):
        how = {"auto_pad": pad, "strides": strides, "dilations": dilations}
        if dilations != (1, 1):         # onnxruntime has no such pads
            how["slack"] = None
        case(f"{pad} {kernel} {strides}", "Conv", [X, floats(4, 3, *kernel)], IMAGE, **how)
        case(f"{pad} {kernel} {strides}", "MaxPool", [X], IMAGE, kernel_shape=kernel, **how)
    case(pad, "AveragePool", [X], IMAGE, kernel_shape=(3, 2), auto_pad=pad, strides=(2, 2))
    case(pad + " pads count", "AveragePool", [X], IMAGE, kernel_shape=(3, 2), auto_pad=pad, strides=(2, 2), count_include_pad=1)
case("of bytes", "MaxPool", [of(I8, "B", 2, "H", "W")], IMAGE, kernel_shape=(3, 3), auto_pad="SAME_UPPER", strides=(2, 2))
SIXES = [dict(B=2, H=5, W=6), dict(B=1, H=5, W=5), dict(B=3, H=9, W=7)]
case("offsets", "DeformConv", [real("B", 2, "H", "W"), floats(4, 2, 3, 3), real("B", 18, "H", "W")], SIXES, opset=19, pads=[1, 1, 1, 1])
case("a mask and a bias", "DeformConv", [real("B", 4, "H", "W"), floats(4, 2, 3, 3), real("B", 36, "H", "W"), floats(4), real("B", 18, "H", "W")],
     SIXES, opset=19, pads=[1, 1, 1, 1], group=2, offset_group=2)
case("columns", "Col2Im", [real("B", 12, 16), np.array([5, 5]), np.array([2, 2])], BATCH)
case("a pool", "MaxUnpool", [real("B", 2, "H", "W"), distinct("B", 2, "H", "W")], SIXES, kernel_shape=[2, 2], strides=[2, 2])
case("crops and pads", "CenterCropPad", [X, np.array([7, 6])], IMAGE, axes=[2, 3])
case("all of them", "CenterCropPad", [real("B", "H"), np.array([4, 8])], [dict(B=2, H=5), dict(B=9, H=9), dict(B=4, H=8)])
case("boxes", "CropAndResize", [X, (F32, ("N", 4), lambda rng, s: np.sort(rng.random((*s[:1], 2, 2), np.float32) * 1.5 - .2, 1).reshape(s)),
                                numbers(I32, ("N",), 1), np.array([4, 3], np.int32)],
     [dict(B=2, H=5, W=6, N=3), dict(B=1, H=1, W=1, N=1), dict(B=3, H=9, W=2, N=9)], domain=MS, mode="bilinear")
case("matrices", "Det", [real("B", 3, 3)], BATCH)
case("matrices of two batches", "Det", [real("B", 2, 2, 2)], BATCH)
case("of matrices", "Inverse", [real("B", 3, 3)], BATCH, domain=MS, slack=1e-2)
case("rows", "ScatterElements", [real("B", 9), orders(I64, "B", 4), real("B", 4)], BATCH, axis=1)
case("sums", "ScatterElements", [real("B", 9), numbers(I64, ("B", "K"), 9), real("B", "K")], ROWS, axis=1, reduction="add")
case("numbers", "Unique", [numbers(I64, ("N",), 6)], [dict(N=5), dict(N=1), dict(N=9)], outputs=4)
case("floats as they come", "Unique", [(F32, ("N",), lambda rng, s: rng.integers(0, 4, s))], [dict(N=5), dict(N=1), dict(N=9)], outputs=4, sorted=0)
case("rows", "Unique", [(F32, ("N", 2), lambda rng, s: rng.integers(0, 2, s))], [dict(N=5), dict(N=1), dict(N=9)], outputs=4, axis=0)
case("blocks", "DequantizeLinear", [of(U8, "B", 8), (F32, ("B", 3), lambda rng, s: rng.random(s) + .01)], BATCH, opset=21, axis=1, block_size=3)
case("blocks", "QuantizeLinear", [real("B", 8), (F32, ("B", 4), lambda rng, s: rng.random(s) + .01)], BATCH, opset=21, axis=1, block_size=2)
case("bytes", "QLinearConcat", [STEP, HALF, of(U8, "B", 3), STEP, HALF, of(U8, "B", 2), np.float32(.03), HALF], BATCH, domain=MS, axis=1)
case("open bytes", "QLinearConcat", [STEP, HALF, of(U8, "B", 3), STEP, HALF, of(U8, "K", 3), np.float32(.03), HALF], ROWS, domain=MS, axis=0)


def check_refused(folder, c, dim, *texts):
    save(c, folder / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, folder / "m.onnx", f"--dim={dim}", *(f"--dim={n}=3..9" for n in "BWHS" if n != dim[0]), "-o", folder / "m.c"])
    assert done.returncode == dnncc.UNSUPPORTED and all(text in done.stderr for text in texts), done.stderr


@pytest.mark.sample(12)
@pytest.mark.parametrize("c", CASES, ids=lambda c: f"{c.op} {c.title}".replace(" ", "-"))
def test_operator(c, tmp_path):
    check(c, tmp_path)


def test_a_window_that_may_not_fit(tmp_path):
    """is refused, with what would bound the extent"""
    check_refused(tmp_path, Case("", "Conv", "", [X, floats(4, 3, 3, 3)], {}, 1, 20, [], 1), "H=1..9", "may not fit", "--dim gives a lower bound")


def test_a_cache_that_may_be_short(tmp_path):
    case_ = Case("", "TensorScatter", "", [real("B", 2, "P", 4), real("B", 2, "S", 4), numbers(I64, ("B",), 1)], {}, 1, 24, [], 1)
    check_refused(tmp_path, case_, "P=1..9", "an update of S rows of a cache of P", "--dim P=S+K")
