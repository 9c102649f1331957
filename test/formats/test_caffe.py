# SPDX-License-Identifier: MIT
"""Networks of Caffe are computed as OpenCV's module dnn computes them, to 1e-5, and as Caffe's documents say where that module differs or lacks a layer."""
import json
import pathlib
import re
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402
from caffe_writer import Net, Word, blob, chunk, number  # noqa: E402

try:
    import cv2
except ImportError:
    cv2 = None

SHARED = dnncc.ROOT.parent / "shared" / "formats" / "caffe"
FILES = sorted(SHARED.glob("*.prototxt"))
TOLERANCE = 1e-5


def computed(path, inputs, folder, options=()):
    for k, value in enumerate(inputs):
        np.save(folder / f"input_{k}.npy", value)
    done = dnncc.run([dnncc.DNNCC, path, f"--run={folder}", *options])
    assert done.returncode == 0, done.stderr
    return [np.load(folder / f"output_{k}.npy") for k in range(len(list(folder.glob("output_*.npy"))))]


def of_opencv(path, inputs, outputs):
    """each layer that gives an output is called as that is"""
    net = cv2.dnn.readNetFromCaffe(str(path), str(path.with_suffix(".caffemodel")))
    for name, value in inputs.items():
        net.setInput(value, name)
    return [np.array(v) for v in net.forward(list(outputs))]


def close(want, got):
    assert len(want) == len(got), (len(want), len(got))
    for a, b in zip(want, got):
        assert a.shape == b.shape, (a.shape, b.shape)
        assert np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE), np.abs(a - b).max()


class Case(Net):
    def __init__(self, rng, **more):
        super().__init__(**more)
        self.rng, self.given = rng, {}

    def input(self, *shape, name="data", low=None):
        self.inputs[name] = shape
        self.given[name] = self.draw(*shape) if low is None else self.rng.uniform(low, low + 2, shape).astype(np.float32)
        return name

    def draw(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def conv(self, x, name, channels, outputs, kernel=3, group=1, bias=True, kind="Convolution", **more):
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        shape = (outputs, channels // group) if kind == "Convolution" else (channels, outputs // group)
        weights = [self.draw(*shape, *kernel)] + ([self.draw(outputs)] if bias else [])
        fields = dict(num_output=outputs, group=group, bias_term=bias, **more)
        if kernel[0] == kernel[1]:
            fields["kernel_size"] = kernel[0]
        else:
            fields |= dict(kernel_h=kernel[0], kernel_w=kernel[1])
        return self.layer(kind, [x], name, weights, convolution_param=fields)


def one(kind, shape=(2, 4, 5, 6), weights=(), low=None, **fields):
    """a network of one layer"""
    def make(c):
        c.layer(kind, [c.input(*shape, low=low)], "y", [w(c) if callable(w) else w for w in weights], **fields)
    return make


def conv(channels=4, outputs=6, shape=(7, 9), kind="Convolution", **more):
    return lambda c: c.conv(c.input(2, channels, *shape), "y", channels, outputs, kind=kind, **more)


def pool(shape=(7, 8), **fields):
    return one("Pooling", (2, 3, *shape), pooling_param=fields)


def several(kind, count=2, shape=(2, 4, 5), **fields):
    def make(c):
        c.layer(kind, [c.input(*shape, name=f"x{i}") for i in range(count)], "y", **fields)
    return make


def slices(**fields):
    def make(c):
        for part in c.layer("Slice", [c.input(2, 6, 4, 5)], ["a", "b", "c"], slice_param=fields):
            c.layer("Power", [part], part * 2, power_param=dict(scale=2.0))
    return make


def priors(**fields):
    """over a grid of 3 x 4 points"""
    def make(c):
        c.layer("PriorBox", [c.input(1, 2, 3, 4, name="grid"), c.input(1, 3, 30, 40, name="image")], "y", prior_box_param=fields)
    return make


def drawn(*shape):
    return lambda c: c.draw(*shape)


def positive(*shape):
    return lambda c: np.abs(c.draw(*shape)) + np.float32(0.5)


# each of these is computed by OpenCV, too
CASES = {
    "conv": conv(), "conv_no_bias": conv(bias=False), "conv_stride": conv(stride=2, pad=1), "conv_group": conv(group=2), "conv_depthwise": conv(4, 4, group=4),
    "conv_dilation": conv(dilation=2), "conv_apart": conv(kernel=(3, 2), pad_h=1, pad_w=0, stride_h=2, stride_w=1),
    "deconv": conv(kind="Deconvolution"), "deconv_stride": conv(kind="Deconvolution", stride=2, pad=1, kernel=4), "deconv_group": conv(4, 4, kind="Deconvolution", stride=2, group=4),
    "inner": one("InnerProduct", weights=[drawn(7, 120), drawn(7)], inner_product_param=dict(num_output=7)),
    "inner_no_bias": one("InnerProduct", weights=[drawn(7, 120)], inner_product_param=dict(num_output=7, bias_term=False)),
    "pool_max": pool(kernel_size=2, stride=2), "pool_hangs_over": pool(kernel_size=3, stride=2), "pool_pads": pool(kernel_size=3, stride=2, pad=1),
    "pool_ave": pool(pool=Word("AVE"), kernel_size=2, stride=2), "pool_ave_hangs_over": pool(pool=Word("AVE"), kernel_size=3, stride=2),
    "pool_ave_pads": pool(pool=Word("AVE"), kernel_size=3, stride=2, pad=1), "pool_ave_same": pool(pool=Word("AVE"), kernel_size=3, stride=1, pad=1),
    "pool_global": pool(pool=Word("AVE"), global_pooling=True), "pool_global_max": pool(pool=Word("MAX"), global_pooling=True),
    "pool_apart": pool(kernel_h=3, kernel_w=2, stride_h=2, stride_w=1, pad_h=1, pad_w=0),
    "relu": one("ReLU"), "leaky_relu": one("ReLU", relu_param=dict(negative_slope=0.1)), "elu": one("ELU", elu_param=dict(alpha=0.5)), "sigmoid": one("Sigmoid"), "tanh": one("TanH"),
    "absolute": one("AbsVal"), "bnll": one("BNLL"), "power": one("Power", low=0, power_param=dict(power=1.5, scale=2.0, shift=0.1)), "square": one("Power", power_param=dict(power=2.0)),
    "affine": one("Power", power_param=dict(scale=2.0, shift=-0.5)), "exp": one("Exp"), "exp_base": one("Exp", exp_param=dict(base=2.0, scale=0.5, shift=0.25)),
    "log": one("Log", low=0.5), "prelu": one("PReLU", weights=[drawn(4)]), "prelu_shared": one("PReLU", weights=[drawn(1)], prelu_param=dict(channel_shared=True)),
    "softmax": one("Softmax"), "softmax_axis": one("Softmax", (2, 5), softmax_param=dict(axis=1)),
    "sum": several("Eltwise"), "product": several("Eltwise", 3, eltwise_param=dict(operation=Word("PROD"))), "maximum": several("Eltwise", eltwise_param=dict(operation=Word("MAX"))),
    "weighted": several("Eltwise", eltwise_param=dict(operation=Word("SUM"), coeff=[0.5, -1.0])),
    "concat": several("Concat", 3), "concat_axis": several("Concat", 2, concat_param=dict(axis=2)), "concat_old": several("Concat", 2, concat_param=dict(concat_dim=1)),
    "slice": slices(axis=1), "slice_points": slices(axis=1, slice_point=[1, 3]),
    "flatten": one("Flatten"), "flatten_part": one("Flatten", flatten_param=dict(axis=1, end_axis=2)),
    "reshape": one("Reshape", reshape_param=dict(shape=dict(dim=[0, 2, -1, 6]))), "reshape_row": one("Reshape", reshape_param=dict(shape=dict(dim=[0, -1]))),
    "permute": one("Permute", permute_param=dict(order=[0, 2, 3, 1])),
    "lrn": one("LRN", (2, 7, 4, 5), lrn_param=dict(local_size=5, alpha=0.5, beta=0.75)),
    "batch_norm": one("BatchNorm", weights=[drawn(4), positive(4), np.array([2.0], np.float32)]),
    "batch_norm_eps": one("BatchNorm", weights=[drawn(4), positive(4), np.array([1.0], np.float32)], batch_norm_param=dict(use_global_stats=True, eps=0.1)),
    "scale": one("Scale", weights=[drawn(4), drawn(4)], scale_param=dict(bias_term=True)), "scale_alone": one("Scale", weights=[drawn(4)]),
    "normalize": one("Normalize", weights=[positive(4)], norm_param=dict(across_spatial=False, channel_shared=False)),
    "normalize_image": one("Normalize", weights=[positive(1)], norm_param=dict(across_spatial=True, channel_shared=True)),
    "mvn": one("MVN", mvn_param=dict(normalize_variance=True, across_channels=False)), "mvn_image": one("MVN", mvn_param=dict(across_channels=True)),
    "mvn_mean": one("MVN", mvn_param=dict(normalize_variance=False)),
    "resize": one("Interp", (2, 3, 5, 6), interp_param=dict(height=9, width=11)), "zoom": one("Interp", (2, 3, 5, 6), interp_param=dict(zoom_factor=3)),
    "shuffle": one("ShuffleChannel", (2, 6, 3, 4), shuffle_channel_param=dict(group=3)),
    "priors": priors(min_size=10.0, variance=0.1, clip=False), "priors_ratios": priors(min_size=10.0, max_size=15.0, clip=False, aspect_ratio=[2.0, 3.0], flip=True, variance=[0.1, 0.1, 0.2, 0.2]),
    "priors_clip": priors(min_size=[10.0, 14.0], aspect_ratio=2.0, flip=False, clip=True, variance=0.2), "priors_step": priors(min_size=8.0, step=9.0, clip=False, offset=0.25, variance=[0.1, 0.1, 0.2, 0.2]),
    "dropout": one("Dropout", dropout_param=dict(dropout_ratio=0.5)), "split": one("Split"),
}


# OpenCV has these otherwise than Caffe, or not at all: (network, what Caffe computes of its inputs and weights)
def lrn_across(x, size, alpha, beta, k):
    square = np.pad(x.astype(np.float64) ** 2, ((0, 0), (size // 2, size // 2), (0, 0), (0, 0)))
    return x / (k + alpha / size * sum(square[:, i:i + x.shape[1]] for i in range(size))) ** beta


def lrn_within(x, size, alpha, beta):
    """the mean's divisor counts pads; a window of stride 1 stays within them"""
    square = np.pad(x.astype(np.float64) ** 2, ((0, 0), (0, 0), (size // 2, size // 2), (size // 2, size // 2)))
    mean = sum(square[:, :, i:i + x.shape[2], j:j + x.shape[3]] for i in range(size) for j in range(size)) / size ** 2
    return x * (1 + alpha * mean) ** -beta


def last_maximum(x, axis):
    return x.shape[axis] - 1 - np.argmax(np.flip(x, axis), axis)


def shared_conv(c):
    c.inputs |= dict(a=(1, 3, 5, 5), b=(1, 3, 5, 5))
    c.given |= {name: c.draw(1, 3, 5, 5) for name in "ab"}
    c.layer("Convolution", ["a", "b"], ["y", "z"], [c.draw(2, 3, 1, 1)], convolution_param=dict(num_output=2, kernel_size=1, bias_term=False))


def two(kind, first, second, **fields):
    return lambda c: c.layer(kind, [c.input(*first, name="a"), c.input(*second, name="b")], "y", **fields)


def embedding(c):
    c.input(3, 4)
    c.given["data"] = c.rng.integers(0, 7, (3, 4)).astype(np.float32)
    c.layer("Embed", ["data"], "y", [c.draw(7, 5), c.draw(5)], embed_param=dict(num_output=5, input_dim=7))


def shrunk(x):
    """by 2: 5 x 6 pixels become 3 x 3"""
    columns = np.array([0, 2.5, 5])
    low = columns.astype(int)
    rows = x[:, :, ::2]
    return rows[..., low] * (1 - columns + low) + rows[..., np.minimum(low + 1, 5)] * (columns - low)


REFERENCES = {
    "lrn_k": (one("LRN", (2, 7, 4, 5), lrn_param=dict(local_size=3, alpha=0.1, beta=0.5, k=2.0)), lambda x: lrn_across(x, 3, 0.1, 0.5, 2)),
    "lrn_within": (one("LRN", (2, 3, 6, 7), lrn_param=dict(local_size=3, alpha=0.5, beta=0.75, norm_region=Word("WITHIN_CHANNEL"))), lambda x: lrn_within(x, 3, 0.5, 0.75)),
    "threshold": (one("Threshold", threshold_param=dict(threshold=0.25)), lambda x: (x > np.float32(0.25)).astype(np.float32)),
    "swish": (one("Swish", swish_param=dict(beta=1.5)), lambda x: x / (1 + np.exp(-1.5 * x))),
    "clip": (one("Clip", clip_param=dict(min=-0.5, max=0.75)), lambda x: np.clip(x, -0.5, 0.75)),
    "log_base": (one("Log", low=0.5, log_param=dict(base=2.0, scale=3.0, shift=0.5)), lambda x: np.log2(3 * x + 0.5)),
    "inner_axis": (one("InnerProduct", weights=[drawn(3, 30)], inner_product_param=dict(num_output=3, axis=2, bias_term=False)), lambda x, w: x.reshape(2, 4, 30) @ w.T),
    "inner_transposed": (one("InnerProduct", weights=[drawn(120, 3), drawn(3)], inner_product_param=dict(num_output=3, transpose=True)), lambda x, w, b: x.reshape(2, 120) @ w + b),
    "bias": (one("Bias", weights=[drawn(4)]), lambda x, b: x + b[:, None, None]),
    "bias_axes": (one("Bias", weights=[drawn(4, 5)], bias_param=dict(axis=1, num_axes=2)), lambda x, b: x + b[:, :, None]),
    "bias_given": (two("Bias", (2, 4, 5), (4,)), lambda x, b: x + b[:, None]),
    "scale_rest": (one("Scale", weights=[drawn(5, 6)], scale_param=dict(axis=2, num_axes=-1)), lambda x, w: x * w),
    "scale_one": (one("Scale", weights=[drawn(), drawn()], scale_param=dict(axis=0, num_axes=0, bias_term=True)), lambda x, w, b: x * w + b),
    "scale_given": (two("Scale", (2, 4, 5), (2, 4), scale_param=dict(axis=0)), lambda x, w: x * w[:, :, None]),
    "tile": (one("Tile", tile_param=dict(axis=2, tiles=3)), lambda x: np.tile(x, (1, 1, 3, 1))),
    "resize_cut": (one("Interp", (1, 2, 7, 8), interp_param=dict(shrink_factor=2, pad_beg=-1, pad_end=-1)), lambda x: shrunk(x[:, :, 1:-1, 1:-1])),
    "embed": (embedding, lambda x, w, b: w[x.astype(int)] + b),
    "crop": (two("Crop", (1, 4, 7, 8), (1, 4, 3, 5), crop_param=dict(axis=2, offset=[2, 1])), lambda x, _: x[:, :, 2:5, 1:6]),
    "crop_all": (two("Crop", (2, 4, 7, 8), (1, 3, 6, 7), crop_param=dict(axis=-4, offset=1)), lambda x, _: x[1:, 1:, 1:, 1:]),
    "reshape_axes": (one("Reshape", reshape_param=dict(shape=dict(dim=[2, 2]), axis=1, num_axes=1)), lambda x: x.reshape(2, 2, 2, 5, 6)),
    "reshape_end": (one("Reshape", (2, 6), reshape_param=dict(shape=dict(dim=[1, 1]), axis=-1)), lambda x: x.reshape(2, 6, 1, 1)),
    "reduce_sum": (one("Reduction", reduction_param=dict(axis=2)), lambda x: x.sum((2, 3))),
    "reduce_all": (one("Reduction"), lambda x: x.sum()),
    "reduce_abs": (one("Reduction", reduction_param=dict(operation=Word("ASUM"), axis=1, coeff=0.5)), lambda x: 0.5 * np.abs(x).sum((1, 2, 3))),
    "reduce_squares": (one("Reduction", reduction_param=dict(operation=Word("SUMSQ"), axis=-1)), lambda x: (x ** 2).sum(3)),
    "reduce_mean": (one("Reduction", reduction_param=dict(operation=Word("MEAN"), axis=1)), lambda x: x.mean((1, 2, 3))),
    "arg_max": (one("ArgMax"), lambda x: last_maximum(x.reshape(2, 120), 1).reshape(2, 1, 1, 1)),
    "arg_max_both": (one("ArgMax", (3, 7), argmax_param=dict(out_max_val=True)), lambda x: np.stack([last_maximum(x, 1), x.max(1)], 1)[:, :, None]),
    "arg_max_axis": (one("ArgMax", argmax_param=dict(axis=1)), lambda x: last_maximum(x, 1)[:, None]),
    "arg_max_value": (one("ArgMax", argmax_param=dict(axis=-1, out_max_val=True)), lambda x: x.max(3, keepdims=True)),
    "shared_conv": (shared_conv, lambda a, b, w: [np.einsum("oc,nchw->nohw", w[:, :, 0, 0], v) for v in (a, b)]),
}


@pytest.mark.skipif(cv2 is None, reason="OpenCV is not installed")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(20)
def test_layers(name, tmp_path):
    case = Case(np.random.default_rng(1))
    CASES[name](case)
    path = case.save(tmp_path / "m")
    taken = {bottom for layer in case.layers for bottom in layer[2]}
    close(of_opencv(path, case.given, [top for layer in case.layers for top in layer[3] if top not in taken]), computed(path, case.given.values(), tmp_path))


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.sample(10)
def test_layers_of_caffe_alone(name, tmp_path):
    case = Case(np.random.default_rng(1))
    make, reference = REFERENCES[name]
    make(case)
    want = reference(*case.given.values(), *[w for layer in case.layers for w in layer[4]])
    close([np.float32(w) for w in (want if isinstance(want, list) else [want])], computed(case.save(tmp_path / "m"), case.given.values(), tmp_path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files(path, tmp_path):
    """the face detectors, which OpenCV computes, too; their weights lie beside them"""
    pytest.importorskip("cv2")
    done = dnncc.run([dnncc.DNNCC, path, "--info=json"])
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    x = np.random.default_rng(1).standard_normal([1, 3, *([12, 12] if path.stem == "det1" else [24, 24])]).astype(np.float32)
    names = [port["name"] for port in facts["outputs"]]
    assert len(names) == 2
    for options in ([], ["-O0"], ["--cc=gcc -O1"]):
        close(of_opencv(path, dict(data=x), names), computed(path, [x], tmp_path, options))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_are_as_fast_as_in_onnx(path, tmp_path):
    """the same kernels are predicted for the network as ONNX"""
    assert dnncc.run([dnncc.DNNCC, path, "--emit=onnx", "-o", tmp_path / "m.onnx"]).returncode == 0
    for target in ("x86-64-v4", "aarch64", "cortex-m4"):
        said = [dnncc.run([dnncc.DNNCC, model, f"--target={target}", "--cost"]) for model in (path, tmp_path / "m.onnx")]
        lines = [done.stdout.partition(": ")[2] for done in said]
        assert "cycles" in lines[0] and lines[0] == lines[1], lines


# ---- detectors ----

BOXES = 3 * 4 * 4


def detector(c, images=1, classes=3, background=0, code="CENTER_SIZE", most=400, keep=20, low=0.3, overlap=0.4, **more):
    c.input(images, 2, 3, 4, name="grid")
    c.input(images, 3, 30, 40, name="image")
    c.input(images, BOXES * 4, name="where")
    c.input(images, BOXES * classes, name="score", low=0)
    c.given["where"] *= np.float32(0.5)
    # no two scores of a class are equal
    c.given["score"] = c.rng.permuted(np.linspace(0, 1, images * BOXES * classes)).reshape(images, -1).astype(np.float32)
    c.layer("PriorBox", ["grid", "image"], "priors", prior_box_param=dict(min_size=10.0, max_size=15.0, aspect_ratio=2.0, flip=True, variance=[0.1, 0.1, 0.2, 0.2], clip=False))
    c.layer("DetectionOutput", ["where", "score", "priors"], "y", detection_output_param=dict(
        num_classes=classes, share_location=True, background_label_id=background, code_type=Word(code), keep_top_k=keep, confidence_threshold=low, nms_param=dict(nms_threshold=overlap, top_k=most), **more))


DETECTORS = {"usual": {}, "two images": dict(images=2), "few kept": dict(keep=5), "few looked at": dict(most=7), "other background": dict(background=1), "no background": dict(background=-1),
             "corners": dict(code="CORNER"), "corners and sizes": dict(code="CORNER_SIZE"), "encoded": dict(variance_encoded_in_target=True), "nothing": dict(low=2.0), "all": dict(keep=-1)}


OPENCV_LACKS = ("no background", "corners and sizes", "encoded", "all")      # it refuses them, or crashes


def found(c, priors):
    """what SSD's layer finds: rows of image, class, score and corners, by class and falling score"""
    fields = c.layers[1][5]["detection_output_param"]
    (box, variance), nms = priors.reshape(2, BOXES, 4).astype(np.float64), fields["nms_param"]
    images = len(c.given["where"])
    where, scores = c.given["where"].reshape(images, BOXES, 4), c.given["score"].reshape(images, BOXES, -1)
    where = where * (1 if fields.get("variance_encoded_in_target") else variance)
    size, middle = box[:, 2:] - box[:, :2], (box[:, 2:] + box[:, :2]) / 2
    if fields["code_type"] == "CORNER":
        corners = box + where
    elif fields["code_type"] == "CORNER_SIZE":
        corners = box + where * np.tile(size, 2)
    else:
        center, half = middle + where[..., :2] * size, np.exp(where[..., 2:]) * size / 2
        corners = np.concatenate([center - half, center + half], -1)

    def overlap(a, b):
        low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
        common = np.prod(np.maximum(high - low, 0))
        return common / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common)

    rows = []
    for image in range(images):
        kept = []
        for label in range(scores.shape[2]):
            if label == fields["background_label_id"]:
                continue
            score = scores[image, :, label]
            order = [k for k in np.argsort(-score, kind="stable") if score[k] > fields["confidence_threshold"]][:nms["top_k"]]
            stay = []
            for k in order:
                if all(overlap(corners[image, k], corners[image, j]) <= nms["nms_threshold"] for j in stay):
                    stay.append(k)
            kept += [(label, k) for k in stay]
        if fields["keep_top_k"] >= 0:
            kept = sorted(sorted(kept, key=lambda at: -scores[image, at[1], at[0]])[:fields["keep_top_k"]], key=lambda at: (at[0], -scores[image, at[1], at[0]]))
        rows += [[image, label, scores[image, k, label], *corners[image, k]] for label, k in kept]
    return np.array(rows, np.float32).reshape(-1, 7)


@pytest.mark.parametrize("name", DETECTORS)
def test_detectors(name, tmp_path):
    """rows that SSD's layer gives, and OpenCV in another order; behind them -1"""
    case = Case(np.random.default_rng(5))
    detector(case, **DETECTORS[name])
    path = case.save(tmp_path / "m")
    got, priors = computed(path, case.given.values(), tmp_path, ["--keep=priors"])
    want = found(case, priors)
    count = len(want)
    assert got.shape[:2] == (1, 1) and got.shape[3] == 7 and (3 < count < got.shape[2] or count == got.shape[2] or name == "nothing"), (got.shape, want)
    close([want], [got[0, 0, :count]])
    assert np.all(got[0, 0, count:] == -1)
    if cv2 and name not in OPENCV_LACKS:
        rows = of_opencv(path, case.given, ["y"])[0].reshape(-1, 7)
        rows = rows[rows[:, 2] > 0]
        close([want], [rows[np.lexsort((-rows[:, 2], rows[:, 1], rows[:, 0]))]])


# ---- networks ----

def network(**more):
    """a small one, whose ReLU gives the name of its bottom anew"""
    c = Case(np.random.default_rng(2), **more)
    c.conv(c.input(1, 3, 6, 6), "conv", 3, 4)
    c.layer("ReLU", ["conv"], "conv", name="relu")
    c.layer("InnerProduct", ["conv"], "fc", [c.draw(5, 64), c.draw(5)], inner_product_param=dict(num_output=5))
    c.layer("Softmax", ["fc"], "prob")
    return c


def values(c):
    x, (w, b), (m, v) = c.given["data"].astype(np.float64), c.layers[0][4], c.layers[2][4]
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    y = np.maximum(np.einsum("nchwij,ocij->nohw", windows, w) + b[:, None, None], 0)
    fc = y.reshape(1, 64) @ m.T + v
    e = np.exp(fc - fc.max())
    return y, fc, e / e.sum()


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("form", ["shape", "old", "double", "single"])
def test_forms_of_files(old, form, tmp_path):
    """layers of 2014 and of later years, and weights in every form"""
    c = network(old=old, form=form)
    close([np.float32(values(c)[2])], computed(c.save(tmp_path / "m"), c.given.values(), tmp_path))


def test_large_weights(tmp_path):
    """they stay where they lie in the file"""
    c = Case(np.random.default_rng(3))
    w = c.draw(64, 600)
    c.layer("InnerProduct", [c.input(2, 600)], "y", [w], inner_product_param=dict(num_output=64, bias_term=False))
    for form in ("shape", "double", "single"):
        c.form = form
        got = computed(c.save(tmp_path / "m"), c.given.values(), tmp_path)
        assert np.allclose(got[0], c.given["data"] @ w.T, rtol=1e-4, atol=1e-4)


def test_outputs(tmp_path):
    """tops that no layer takes, but for Silence; others by --output and --keep, and layers they do not need may be anything"""
    c = network()
    c.layer("Split", ["fc"], ["left", "right"])
    c.layer("Silence", ["right"], [])
    path = c.save(tmp_path / "m")
    conv, fc, prob = (np.float32(v) for v in values(c))
    close([prob, fc], computed(path, c.given.values(), tmp_path))
    c.layer("Strange", ["prob"], "strange")
    path = c.save(tmp_path / "m")
    for options, want in ((["--output=fc"], [fc]), (["--output=prob", "--keep=conv"], [prob, conv])):
        folder = tmp_path / options[0][9:]
        folder.mkdir()
        close(want, computed(path, c.given.values(), folder, options))


PHASES = """
layer { name: "train" type: "Data" top: "data" top: "label" include { phase: TRAIN } data_param { source: "x" batch_size: 4 } }
layer { name: "data" type: "Input" top: "data" top: "label" include { phase: TEST } input_param { shape { dim: [1, 2] } shape { dim: 1 } } }
layer { name: "twice" type: "Power" bottom: "data" top: "y" power_param { scale: 2 } param { lr_mult: 1 } include { stage: 'deploy' not_stage: "fast" } }
layer { name: "thrice" type: "Power" bottom: "data" top: "y" power_param < scale: 3 > exclude { stage: "deploy" } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y" bottom: "label" top: "loss" loss_weight: 0.5 }
layer { name: "accuracy" type: "Accuracy" bottom: "y" bottom: "label" top: "accuracy" include { phase: TEST } }
"""


@pytest.mark.parametrize("state, factor", [("", 3), ("state { stage: 'deploy' }", 2), ("state { level: 1 stage: ['deploy', 'x'] }", 2)])
def test_phases(state, factor, tmp_path):
    """the network is what it is in testing, without losses"""
    path = tmp_path / "m.prototxt"
    path.write_text(state + PHASES)
    x = np.array([[1, -2]], np.float32)
    close([factor * x], computed(path, [x, np.zeros(1, np.float32)], tmp_path))


def test_inputs(tmp_path):
    """--input states a shape; where neither it nor the file does, it is an error"""
    path = tmp_path / "m.prototxt"
    path.write_text('input: "x" layer { name: "y" type: "Power" bottom: "x" top: "y" power_param { scale: 2 } }')
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    close([2 * x], computed(path, [x], tmp_path, ["--input=x=1x2x3"]))
    for options, code, words in (([], 3, "input 'x' has no shape"), (["--input=z=1"], 3, "no shape"), (["--input=x=1", "--input=z=1"], 1, "an input of the network"),
                                 (["--input=x=1x"], 1, "want extents"), (["--dim=N=3"], 1, "have no names"), (["--input=x=1", "--output=z"], 1, "no such value")):
        done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c", *options])
        assert done.returncode == code and words in done.stderr, (options, done.stderr)


def test_weights_in_the_text(tmp_path):
    c = network()
    path = tmp_path / "m.prototxt"
    path.write_text(c.text(weights=True))
    close([np.float32(values(c)[2])], computed(path, c.given.values(), tmp_path))


def bytes_of_network(w):
    layer = chunk(1, "fc") + chunk(2, "InnerProduct") + chunk(3, "x") + chunk(4, "fc") + chunk(117, number(1, len(w)) + number(2, 0)) + chunk(7, blob(w))
    return chunk(1, "net") + chunk(3, "x") + chunk(8, chunk(1, bytes([1, w.shape[1]]))) + chunk(100, layer)


def test_bytes_of_a_network(tmp_path):
    """a network whose layers lie in bytes, with their weights"""
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    path = tmp_path / "m.bin"
    path.write_bytes(bytes_of_network(w))
    x = np.ones((1, 3), np.float32)
    close([x @ w.T], computed(path, [x], tmp_path))


def test_weights_elsewhere(tmp_path):
    c = network()
    path = c.save(tmp_path / "m")
    other = tmp_path / "other"
    other.mkdir()
    want = [np.float32(values(c)[2])]
    path.with_suffix(".caffemodel").rename(other / "m.caffemodel")
    done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c"])
    assert done.returncode == 2 and "m.caffemodel" in done.stderr and "--allow-external=FILE" in done.stderr, done.stderr
    close(want, computed(path, c.given.values(), tmp_path, [f"--allow-external={other}"]))
    (other / "m.caffemodel").rename(other / "best")
    close(want, computed(path, c.given.values(), tmp_path, [f"--allow-external={other / 'best'}"]))
    path.with_suffix(".caffemodel").symlink_to(other / "best")
    done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c"])
    assert done.returncode == 2, done.stderr


def test_dependencies(tmp_path):
    path = network().save(tmp_path / "m")
    done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c", "-MD"])
    assert done.returncode == 0, done.stderr
    assert "m.caffemodel" in (tmp_path / "m.d").read_text()


def test_table_and_page():
    """each row of the table stands in docs/formats.md, in --help-ops and in a test here"""
    rows = re.findall(r"^CAFFE_(?:LAYER|EACH)\((\w+),", (dnncc.ROOT / "front/caffe/caffe_layers.def").read_text(), re.M)
    page = (dnncc.ROOT / "docs/formats.md").read_text()
    said = re.findall(r"`(\w+)`", page[page.index("<!-- layers -->"):page.index("<!-- end of layers -->")])
    assert len(rows) > 30 and sorted(rows) == sorted(said)
    listed = dnncc.run([dnncc.DNNCC, "--help-ops"]).stdout
    assert all(re.search(rf"^  {row}$", listed, re.M) for row in rows)
    made = {"Input", "Silence", "DetectionOutput"}
    for make in [*CASES.values(), *(make for make, _ in REFERENCES.values())]:
        case = Case(np.random.default_rng(1))
        make(case)
        made |= {layer[0] for layer in case.layers}
    assert made == set(rows)


# ---- what is refused ----

def test_all_that_is_not_supported_is_said_at_once(tmp_path):
    c = network()
    c.layer("Strange", ["prob"], "a")
    c.layer("Stranger", ["prob"], "b")
    c.layer("Strange", ["a"], "c", name="again")
    c.layer("Pooling", ["conv"], "d", pooling_param=dict(pool=Word("STOCHASTIC"), kernel_size=2, favourite=3))
    c.layer("ArgMax", ["prob"], "e", argmax_param=dict(top_k=2))
    c.layer("ReLU", ["c"], "f")
    done = dnncc.run([dnncc.DNNCC, c.save(tmp_path / "m"), "-o", tmp_path / "m.c"])
    assert done.returncode == 4
    for words in ("layer type Strange (2 layers) is not supported", "layer type Stranger (1 layer) is not supported", "'d' (Pooling): line", "field 'favourite'", "a stochastic pool", "top_k is 2"):
        assert words in done.stderr, (words, done.stderr)
    assert done.stderr.count("error") == 5, done.stderr


def test_a_long_list_of_what_is_not_supported(tmp_path):
    """fifty lines, and how many more there are"""
    c = network()
    for i in range(57):
        c.layer(f"Strange{i}", ["prob"], f"top{i}")
    done = dnncc.run([dnncc.DNNCC, c.save(tmp_path / "m"), "-o", tmp_path / "m.c"])
    assert done.returncode == 4 and done.stderr.count("error") == 51, done.stderr
    assert "Strange49 " in done.stderr and "Strange50 " not in done.stderr and "7 more like these are not supported" in done.stderr, done.stderr


POWER = 'layer {{ name: "y" type: "Power" bottom: "x" top: "y" power_param {{ {} }} }}'
HEAD = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }\n'
WRONG = {
    "unknown field at the top": ('name: "n" colour: 3', 3, "line 1: NetParameter has no field 'colour'"),
    "no end": (HEAD + 'layer { name: "y"', 3, "line 2: want '}', found the end"),
    "no number": (HEAD + POWER.format("scale: big"), 3, "line 2: want a number for scale, found 'big"),
    "given twice": (HEAD + POWER.format("scale: 1 scale: 2"), 3, "scale is given twice"),
    "no string": ("name: net", 3, "want a string in quotes"),
    "no end of a string": ('name: "net\n"', 3, "line 1: a string has no end"),
    "wrong escape": ('name: "\\q"', 3, "a string has a wrong escape"),
    "negative": (HEAD + 'layer { name: "y" type: "Pooling" bottom: "x" top: "y" pooling_param { kernel_size: -1 } }', 3, "a whole number that is not negative for kernel_size"),
    "word of no list": (HEAD + 'layer { name: "y" type: "Pooling" bottom: "x" top: "y" pooling_param { pool: MIN } }', 3, "a word of its list for pool"),
    "deep": ("layer { strange " + "{ a " * 1000, 3, "nested too deep"),
    "no bottom": (HEAD + 'layer { name: "y" type: "ReLU" bottom: "z" top: "y" }', 3, "layer 'y' (ReLU): no layer before it makes its bottom 'z'"),
    "cycle": ('layer { name: "y" type: "ReLU" bottom: "z" top: "y" } layer { name: "z" type: "ReLU" bottom: "y" top: "z" }', 3, "makes its bottom 'z'"),
    "top twice": (HEAD + 2 * 'layer { name: "y" type: "ReLU" bottom: "x" top: "y" }', 3, "a layer before it makes 'y', too"),
    "too few bottoms": (HEAD + 'layer { name: "y" type: "Eltwise" bottom: "x" top: "y" }', 3, "1 bottoms, want 2 to"),
    "two tops": (HEAD + 'layer { name: "y" type: "Flatten" bottom: "x" top: "y" top: "z" }', 4, "2 tops, at most 1 is supported"),
    "axis": (HEAD + 'layer { name: "y" type: "Softmax" bottom: "x" top: "y" softmax_param { axis: 2 } }', 3, "axis 2 of 2"),
    "old and new": (HEAD + 'layers { name: "y" type: RELU bottom: "x" top: "y" }', 3, "both 'layer' and 'layers'"),
    "of 2013": ('layers { layer { name: "y" } }', 4, "layers of 2013"),
    "no layers": ('name: "net"', 3, "it holds no layers"),
    "no outputs": (HEAD, 3, "the network has no outputs"),
    "data": ('layer { name: "x" type: "ImageData" top: "x" }', 4, "layer type ImageData (1 layer) is not supported: it reads data"),
    "shapes": (HEAD + 'layer { name: "y" type: "Reshape" bottom: "x" top: "y" reshape_param { shape { dim: 4 dim: -1 } } }', 3, "a shape of 4 elements for 6"),
    "large": ('layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 9223372036854775807 dim: 3 } } } ' + POWER.format("scale: 2"), 3, "--limit tensor_bytes"),
    "far too large": (HEAD + 'layer { name: "y" type: "Tile" bottom: "x" top: "y" tile_param { tiles: 2147483647 axis: 0 } }', 3, "limit"),
    "zero": ('layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 0 } } }', 3, "has the extent 0"),
    "NUL": (HEAD + 'layer { name: "a\\0b" type: "ReLU" bottom: "x" top: "y" }', 3, "holds a NUL"),
    "window behind the image": ('layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 1, 5, 5] } } } '
                                'layer { name: "y" type: "Pooling" bottom: "x" top: "y" pooling_param { kernel_size: 1 stride: 3 } }', 4, "a window that lies behind the image"),
    "many priors": ('layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 1, 5000, 5000] } } } '
                    'layer { name: "y" type: "PriorBox" bottom: "x" bottom: "x" top: "y" prior_box_param { min_size: 1 } }', 3, "--limit fold_total_bytes"),
    "batch statistics": (HEAD + 'layer { name: "y" type: "BatchNorm" bottom: "x" top: "y" batch_norm_param { use_global_stats: false } }', 4, "statistics of the batch"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_texts(name, tmp_path):
    text, code, words = WRONG[name]
    path = tmp_path / "m.prototxt"
    path.write_text(text)
    done = dnncc.run([dnncc.DNNCC, "--format=caffe", path, "-o", tmp_path / "m.c"])
    assert done.returncode == code and words in done.stderr, done.stderr
    assert not (tmp_path / "m.c").exists()


def test_wrong_weights(tmp_path):
    def refused(c, code, words, weights=None):
        path = c.save(tmp_path / "m")
        if weights is not None:
            path.with_suffix(".caffemodel").write_bytes(weights)
        done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c"])
        assert done.returncode == code and words in done.stderr, done.stderr

    c = network()
    c.layers[0][4][0] = c.layers[0][4][0][:, :2]
    refused(c, 3, "layer 'conv' (Convolution): weights 0 are 4 x 2 x 3 x 3, want 4 x 3 x 3 x 3")
    c = network()
    del c.layers[2][4][1]
    refused(c, 3, "layer 'fc' (InnerProduct): 1 tensors of weights, want 2")
    whole = network().weights()
    refused(network(), 3, "m.caffemodel: error: not a Caffe network: the file is empty", b"")
    refused(network(), 3, "no layer of this name", whole.replace(b"conv", b"konv"))
    refused(network(), 3, "damaged", whole[:-5])


def test_files_that_are_cut_off(tmp_path):
    """at every byte of a text and of its weights: an error of the file, or of what is not there, and no crash"""
    c = Case(np.random.default_rng(4))
    c.conv(c.input(1, 1, 2, 2), "y", 1, 1, kernel=1)
    path = c.save(tmp_path / "m")
    text, weights = path.read_bytes(), path.with_suffix(".caffemodel").read_bytes()
    codes = set()
    for length in range(0, len(text), 3):
        path.write_bytes(text[:length])
        codes.add(dnncc.run([dnncc.DNNCC, "--format=caffe", path, "-o", tmp_path / "m.c"]).returncode)
    assert codes <= {0, 3, 4} and 3 in codes, codes
    path.write_bytes(text)
    codes = set()
    for length in range(len(weights)):
        path.with_suffix(".caffemodel").write_bytes(weights[:length])
        codes.add(dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c"]).returncode)
    assert codes == {3}, codes
