# SPDX-License-Identifier: MIT
"""Operators that few exporters write, and those of ai.onnx.preview.training, in forms that the backend tests do not show."""
import itertools
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dnncc  # noqa: E402
from cases import Case, check, collection, group_name, model_of, node_of  # noqa: E402
from test_opsets import F16, F32, F64, I32, I64, ints, x  # noqa: E402

GROUPS, case = collection()


# ---- DeformConv ----

def sampled(image, place):
    """image [C, spatial] at a place between pixels; 0 outside"""
    low = np.floor(place).astype(int)
    total = np.zeros(len(image), image.dtype)
    for corner in itertools.product((0, 1), repeat=len(place)):
        at = low + corner
        if np.all(at >= 0) and np.all(at < image.shape[1:]):
            share = np.prod([p - l if k else 1 - (p - l) for p, l, k in zip(place, low, corner)])
            total += (image[(slice(None), *at)] * share).astype(image.dtype)
    return total


def deformed(image, weights, offset, bias=None, mask=None, group=1, offset_group=1, strides=None, dilations=None, pads=None):
    dims = image.ndim - 2
    strides, dilations, pads = strides or [1] * dims, dilations or [1] * dims, pads or [0] * 2 * dims
    kernel, out = weights.shape[2:], offset.shape[2:]
    n, channels, outputs = len(image), image.shape[1] // offset_group, len(weights) // group
    offset = offset.reshape(n, offset_group, *kernel, dims, *out)
    mask = np.ones((n, offset_group, *kernel, *out), image.dtype) if mask is None else mask.reshape(n, offset_group, *kernel, *out)
    result = np.zeros((n, len(weights), *out), image.dtype)
    for i, o in itertools.product(range(n), np.ndindex(*out)):
        column = np.zeros((image.shape[1], *kernel), image.dtype)
        for g, k in itertools.product(range(offset_group), np.ndindex(*kernel)):
            place = [o[d] * strides[d] - pads[d] + k[d] * dilations[d] + offset[(i, g, *k, d, *o)] for d in range(dims)]
            rows = slice(g * channels, (g + 1) * channels)
            column[(rows, *k)] = sampled(image[i, rows], np.array(place)) * mask[(i, g, *k, *o)]
        for m in range(len(weights)):
            first = m // outputs * weights.shape[1]
            result[(i, m, *o)] = np.sum(column[first:first + weights.shape[1]] * weights[m]) + (0 if bias is None else bias[m])
    return result


def deform_case(version, shape, outputs, kernel, out, group=1, offset_group=1, bias=True, mask=True, dtype=F32, known=True, expect=None, title="", reach=2, **attributes):
    points = offset_group * int(np.prod(kernel))
    inputs = [x(*shape, dtype=dtype), x(outputs, shape[1] // group, *kernel, dtype=dtype, low=-1, high=1),
              x(shape[0], points * len(kernel), *out, dtype=dtype, low=-reach, high=reach), x(outputs, dtype=dtype) if bias else None,
              x(shape[0], points, *out, dtype=dtype, low=0, high=1) if mask else None]
    while inputs[-1] is None:
        inputs.pop()
    case(("deform", "", version), "DeformConv", inputs, constants=(1, 3) if known else (), group=group, offset_group=offset_group, expect=expect, title=title, **attributes)


for version in 19, 22:
    deform_case(version, (1, 3, 6, 7), 5, (3, 2), (4, 6), title="plain")
    deform_case(version, (2, 6, 9, 8), 4, (3, 3), (5, 3), group=2, offset_group=3, strides=[2, 3], pads=[2, 1, 1, 0], dilations=[1, 1], title="neither lies in the other")
    deform_case(version, (1, 8, 7, 7), 8, (3, 3), (5, 5), group=4, offset_group=2, dilations=[2, 1], pads=[1, 0, 1, 0], bias=False, title="two groups share")
    deform_case(version, (1, 8, 5, 5), 6, (2, 2), (4, 4), group=2, offset_group=4, mask=False, known=False, title="run-time weights")
    deform_case(version, (2, 4, 5, 5), 4, (1, 1), (5, 5), group=4, bias=False, mask=False, reach=9, title="depthwise, mostly outside")
    deform_case(version, (1, 2, 5, 4), 3, (2, 2), (4, 3), dtype=F64, expect=deformed, title="f64")
deform_case(22, (2, 4, 4, 5, 3), 6, (2, 2, 2), (3, 2, 2), group=2, offset_group=2, strides=[1, 2, 1], title="volumes",
            expect=lambda a, w, o, b, m: deformed(a, w, o, b, m, 2, 2, [1, 2, 1]))
deform_case(22, (1, 4, 17), 2, (3,), (9,), offset_group=2, strides=[2], pads=[1, 1], bias=False, mask=False, title="signals",
            expect=lambda a, w, o: deformed(a, w, o, offset_group=2, strides=[2], pads=[1, 1]))
case(("deform", "", 22), "DeformConv", [x(1, 1, 4, 4), x(1, 1, 1, 1), np.full((1, 2, 4, 4), np.inf, F32)], title="endlessly far", expect=lambda a, w, o: a * 0)


# ---- Col2Im ----

def folded(columns, image, block, strides=None, pads=None, dilations=None):
    """columns [N, C * windows, positions] added up in images, pads cut off"""
    dims = len(image)
    strides, pads, dilations = strides or [1] * dims, pads or [0] * 2 * dims, dilations or [1] * dims
    padded = [image[d] + pads[d] + pads[d + dims] for d in range(dims)]
    out = [(padded[d] - (block[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(dims)]
    columns = columns.reshape(len(columns), -1, *block, *out)
    result = np.zeros((*columns.shape[:2], *padded), columns.dtype)
    for k in np.ndindex(*block):
        for p in np.ndindex(*out):
            result[(slice(None), slice(None), *(p[d] * strides[d] + k[d] * dilations[d] for d in range(dims)))] += columns[(slice(None), slice(None), *k, *p)]
    return result[(slice(None), slice(None), *(slice(pads[d], pads[d] + image[d]) for d in range(dims)))]


for known in (), (1,), (2,), (1, 2):        # what is not known is checked as it runs
    for shape, image, block, attributes in (
            ((2, 3 * 6, 12), (5, 6), (2, 3), dict(strides=[2, 1], pads=[1, 0, 0, 2], dilations=[1, 2])), ((1, 4, 5), (10,), (2,), dict(strides=[2])),
            ((2, 2 * 12, 8), (3, 4, 3), (2, 3, 2), {}), ((1, 2, 7), (7,), (1,), {})):
        case(("columns", "", 18), "Col2Im", [x(*shape), ints(*image), ints(*block)], known, title=f"known {known}", **attributes,
             expect=lambda c, i, b, a=attributes: folded(c, i, b, **a))


# ---- Det ----

def determinant(a):
    return np.linalg.det(a.astype(F64)).astype(a.dtype)


def mixed(*shape, dtype=F32, rank=None):
    """matrices with zeros on the diagonal; of a smaller rank"""
    made = x(*shape, dtype=dtype, low=-1, high=1)
    for k in range(shape[-1]):
        made[..., k, k] = 0
    if rank is not None:
        made[..., rank:, :] = made[..., :1, :]
    return made


for version in 11, 22:
    for n in 1, 2, 3, 4, 5, 8, 17:
        case(("det", "", version), "Det", [x(3, n, n, low=-1, high=1)], expect=determinant, title=f"{n}")
        case(("det", "", version), "Det", [mixed(2, 2, n, n, dtype=F64)], expect=determinant, title=f"{n}, zeros, f64")
    for n, rank in (3, 2), (6, 5), (4, 1), (5, 0):
        case(("det", "", version), "Det", [np.round(mixed(n, n, rank=rank) * 4)], expect=lambda a: np.zeros((), a.dtype), title=f"{n}, rank {rank}")
    case(("det", "", version), "Det", [np.eye(7, dtype=F32)[[6, 0, 1, 2, 3, 5, 4]]], expect=lambda a: np.array(-1, F32), title="a permutation")
    case(("det", "", version), "Det", [np.array([[[np.nan, 1], [1, 1]], [[0, 0], [0, 0]], [[1, np.nan], [0, 1]], [[1e-30, 1], [1, 1]]], F32)], title="NaN",
         expect=lambda a: np.array([np.nan, 0, np.nan, -1], F32))
    case(("det", "", version), "Det", [np.zeros((2, 0, 0), F32)], expect=lambda a: np.ones(2, F32), title="nothing")
    case(("det", "", version), "Det", [x(2, 5, 5, dtype=F16)], expect=lambda a: np.linalg.det(a.astype(F64)).astype(F16), title="f16")


# ---- signals ----

for bands, size, rate, low, high in ((8, 16, 8192, 0, 4096), (40, 512, 16000, 125.5, 7600), (13, 257, 8000, 20.3, 3999), (1, 64, 44100, 300.2, 9000.7), (20, 33, 16000, 60, 7999)):
    sizes = [np.array(bands, I64), np.array(size, I64), np.array(rate, I64)]
    for known in (0, 1, 2, 3, 4), (0, 1), ():
        for t in F32, F64:
            case(("signals", "", 17), "MelWeightMatrix", [*sizes, np.array(low, t), np.array(high, t)], known, title=f"known {known} {t.__name__}")
case(("signals", "", 17), "MelWeightMatrix", [ints(8, dtype=I32), ints(16, dtype=I32), ints(8192, dtype=I32), np.array([0], F32), np.array([4096], F32)], range(5), title="of one element",
     output_datatype=11, expect=lambda *_: MEL_8)
MEL_8 = np.zeros((9, 8))
MEL_8[[0, 0, 1, 1, 2, 3, 4, 5], range(8)] = 1
case(("signals", "", 17), "MelWeightMatrix", [ints(8), ints(16), ints(8192), np.array(0, F32), np.array(4096, F32)], (0, 1), title="u8", output_datatype=2,
     expect=lambda *_: MEL_8.astype(np.uint8))


def spectra(signal, step, length, onesided):
    cut = np.stack([signal[:, k:k + length, 0] for k in range(0, signal.shape[1] - length + 1, step)], 1)
    made = np.fft.rfft(cut) if onesided else np.fft.fft(cut)
    return np.stack([made.real, made.imag], -1).astype(signal.dtype)


for length, onesided in itertools.product((15, 16, 1, 2), (0, 1)):          # of as many bins are two lengths
    for known in (), (1,), (3,):
        case(("signals", "", 17), "STFT", [x(2, 61, 1), np.array(7), None, np.array(length)], known, title=f"{length}, known {known}", onesided=onesided,
             expect=lambda a, s, n, half=onesided: spectra(a, int(s), int(n), half))


# ---- TfIdfVectorizer ----

def pooled(grams, order=None):
    """n-grams as attributes"""
    lengths = max(map(len, grams))
    by_length = [[g for g in grams if len(g) == k] for k in range(1, lengths + 1)]
    starts = np.cumsum([0, *(len(g) * (k + 1) for k, g in enumerate(by_length[:-1]))])
    return dict(pool_int64s=[t for some in by_length for g in some for t in g], ngram_counts=starts.tolist(), ngram_indexes=order or list(range(len(grams))))


GRAMS = [(2,), (3,), (5,), (1, 1), (3, 3), (7, 8), (6, 7), (3, 3, 7), (1, 3, 3), (8, 6, 8, 5)]
ORDER = [9, 0, 4, 2, 11, 5, 3, 7, 6, 8]
tokens = ints(1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8)
for data in tokens, tokens.reshape(2, 6), tokens[:, None].astype(I32), tokens.reshape(3, 4).astype(I32):
    for least, most, skips in (1, 1, 0), (1, 2, 0), (2, 3, 1), (1, 4, 5), (3, 4, 2), (2, 2, 40), (4, 4, 0):
        for mode in "TF", "IDF", "TFIDF":
            case(("grams", "", 9), "TfIdfVectorizer", [data], mode=mode, min_gram_length=least, max_gram_length=most, max_skip_count=skips, title=f"{data.shape}",
                 **pooled(GRAMS, ORDER if skips % 2 else None), **({"weights": (np.arange(10) / 4 + 1).tolist()} if most % 2 else {}))
case(("grams", "", 9), "TfIdfVectorizer", [tokens], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0, title="one place for several", **pooled(GRAMS[:7], [0, 1, 0, 3, 4, 1, 6]))
case(("grams", "", 9), "TfIdfVectorizer", [np.zeros((3, 0), I64)], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0, title="nothing", **pooled(GRAMS[:7]))


# ---- ai.onnx.preview.training ----

TRAINING = "ai.onnx.preview.training"


def in_turn(one, states):
    """one(rate, count, tensor, gradient, states) for several tensors"""
    def all_of(rate, count, *rest):
        many = len(rest) // (2 + states)
        made = [one(rate.ravel()[0], int(count.ravel()[0]), *rest[k::many]) for k in range(many)]
        return tuple(made[k][part].astype(rest[k].dtype) for part in range(1 + states) for k in range(many))
    return all_of


def momentum(alpha, beta, norm_coefficient, mode):
    def one(r, t, w, g, v):
        g = norm_coefficient * w + g
        v = alpha * v + (beta if t > 0 else 1) * g
        return w - r * (g + alpha * v if mode == "nesterov" else v), v
    return one


def adagrad(norm_coefficient=0, decay_factor=0, epsilon=1e-6):
    def one(r, t, w, g, h):
        g = norm_coefficient * w + g
        h = h + g * g
        return w - r / (1 + t * decay_factor) * g / (np.sqrt(h) + epsilon), h
    return one


def adam(norm_coefficient=0, norm_coefficient_post=0, alpha=0.9, beta=0.999, epsilon=1e-6):
    def one(r, t, w, g, v, h):
        g = norm_coefficient * w + g
        v, h = alpha * v + (1 - alpha) * g, beta * h + (1 - beta) * g * g
        r = r * np.sqrt(1 - beta ** t) / (1 - alpha ** t) if t > 0 else r
        return (1 - norm_coefficient_post) * (w - r * v / (np.sqrt(h) + epsilon)), v, h
    return one


for t, shapes in itertools.product((F32, F64), ([(3, 5)], [(2,), (), (4, 1, 3)])):
    for count, rate in (0, np.array(0.1, t)), (1, np.array([0.3], F32)), (17, np.array(0.02, F64)):
        for op, states, make, choices in (
                ("Momentum", 1, momentum, [dict(alpha=0.9, beta=0.25, norm_coefficient=0.125, mode=m) for m in ("standard", "nesterov")]),
                ("Adagrad", 1, adagrad, [{}, dict(norm_coefficient=0.125, decay_factor=0.5, epsilon=0.25)]),
                ("Adam", 2, adam, [{}, dict(norm_coefficient=0.125, norm_coefficient_post=0.25, alpha=0.5, beta=0.75, epsilon=0.125)])):
            for more in choices:
                state = [x(*s, dtype=t, low=0.5 if part > 1 else -4, key=part) for part in range(2 + states) for s in shapes]
                case(("training", TRAINING, 1), op, [rate, np.array(count), *state], outputs=(1 + states) * len(shapes), title=f"{t.__name__} {count} {len(shapes)}", **more,
                     expect=in_turn(make(**more), states))


# ---- the test ----

@pytest.mark.sample(4)
@pytest.mark.parametrize("group", GROUPS, ids=group_name)
def test_group(group):
    check(group, GROUPS[group])


def test_sizes_that_contradict():
    """sizes that are known as it runs and have not the bins that are declared: an error"""
    for op, inputs, shape, wrong, attributes in (
            ("STFT", [x(1, 61, 1), np.array(7), None, np.array(16)], (1, 7, 9, 2), [(3, 18), (3, 15), (3, 0), (3, -2 ** 63), (1, 20)], {}),
            ("STFT", [x(1, 61, 1), np.array(7), None, np.array(16)], (1, 7, 16, 2), [(3, 17), (3, 15), (3, 2 ** 63 - 1)], dict(onesided=0)),
            ("MelWeightMatrix", [np.array(8), np.array(16), np.array(8192), np.array(0, F32), np.array(4000, F32)], (9, 8), [(0, 7), (0, 9), (1, 15), (1, 18), (0, -2 ** 63), (1, 2 ** 63 - 1)], {})):
        node, given, _ = node_of(Case(op, inputs, set(), 1, attributes, None, ""), "", "n")
        with dnncc.Workspace("sizes") as folder:
            onnx.save(model_of([node], given, [], [helper.make_tensor_value_info("n_y0", 1, shape)], "", 17), str(folder / "model.onnx"))
            dnncc.compile_model(folder / "model.onnx", folder)
            host = dnncc.build_host(folder, dnncc.SANITIZE)
            assert dnncc.run_host(host, list(given.values()))[0].shape == shape
            for place, number in wrong:
                with pytest.raises(AssertionError, match="-3"):
                    dnncc.run_host(host, [np.array(number) if k == place else v for k, v in enumerate(inputs) if v is not None])


def test_columns_that_contradict():
    """shapes that are known as it runs and are not those of the operands: an error, not another image"""
    c = Case("Col2Im", [x(1, 12, 6), ints(3, 4), ints(2, 2)], set(), 1, {}, None, "")
    node, given, _ = node_of(c, "", "n")
    with dnncc.Workspace("columns") as folder:
        onnx.save(model_of([node], given, [], [helper.make_tensor_value_info("n_y0", 1, (1, 3, 3, 4))], "", 18), str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        host = dnncc.build_host(folder, dnncc.SANITIZE)
        assert np.allclose(dnncc.run_host(host, c.inputs)[0], folded(*c.inputs))
        low, high = -2 ** 63, 2 ** 63 - 1
        for image, block in ((3, 4), (2, 3)), ((3, 4), (4, 1)), ((3, 4), (0, 2)), ((3, 4), (-2, -2)), ((3, 4), (low, high)), ((3, 4), (high, high)), \
                ((3, 5), (2, 2)), ((4, 3), (2, 2)), ((low, 4), (2, 2)):
            with pytest.raises(AssertionError, match="-3"):
                dnncc.run_host(host, [c.inputs[0], ints(*image), ints(*block)])
