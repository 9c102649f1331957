# SPDX-License-Identifier: MIT
"""--quantize with the samples of --calibrate in the same run: one command for two, and the steps that learn from samples."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "bench", "passes")]
import dnncc  # noqa: E402
import quantization  # noqa: E402
import quantizing  # noqa: E402
from test_quantize import Model, chain  # noqa: E402


PLAIN = "--quantize-steps=-round"       # nothing that learns


def compiled(model, folder, *options, code=dnncc.OK):
    """the C of a model, without what its head says"""
    folder.mkdir()
    done = dnncc.run([dnncc.DNNCC, model, "-MD", "-o", folder / "m.c", *options])
    assert done.returncode == code, done.stderr
    return re.sub("BUILD_[0-9A-F]+", "", (folder / "m.c").read_text().split("*/", 1)[1]) if code == dnncc.OK else done.stderr


# ---- one command ----

def test_one_command_is_two(tmp_path):
    """ranges in a file, or in the same run; what was read is what the output depends on"""
    m, *_ = chain(tmp_path)
    samples = tmp_path / "samples.npz"
    for more in [], ["--observer=mse"], ["--activations=s8", "--keep-float=first", "--target=x86-64-v3"], ["--max-ram=1M"]:
        two = compiled(m.path, tmp_path / f"two{len(more)}{more[:1]}", f"--quantize={m.file}", *more)
        folder = tmp_path / f"one{len(more)}{more[:1]}"
        assert compiled(m.path, folder, "--quantize", f"--calibrate={samples}", PLAIN, *more) == two
        assert str(samples) in (folder / "m.d").read_text() and str(m.path) in (folder / "m.d").read_text()
    first = compiled(m.path, tmp_path / "few", "--quantize", f"--calibrate={samples}", "--samples=2")
    assert first != compiled(m.path, tmp_path / "all", "--quantize", f"--calibrate={samples}")
    both = [f"--quantize={m.file}", f"--calibrate={samples}", "--samples=2", PLAIN]
    assert compiled(m.path, tmp_path / "both", *both) == compiled(m.path, tmp_path / "file", f"--quantize={m.file}")
    text = (tmp_path / "both" / "m.c").read_text()
    head = text.replace("\n * ", " ")
    assert "--quantize=FILE " in head and "--calibrate=PATH --samples=2" in head and "samples.npz" not in text


def test_one_command_writes_models(tmp_path):
    m, *_ = chain(tmp_path)
    for more, path in ([f"--quantize={m.file}"], tmp_path / "two.onnx"), (["--quantize", PLAIN, f"--calibrate={tmp_path / 'samples.npz'}"], tmp_path / "one.onnx"):
        done = dnncc.run([dnncc.DNNCC, m.path, "--emit=onnx", "-o", path, *more])
        assert done.returncode == dnncc.OK, done.stderr
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


@pytest.mark.sample(2)
@pytest.mark.parametrize("options, code, text", [
    (["--quantize"], dnncc.USAGE, "--quantize wants --quantize=FILE"),
    (["--quantize", "--calibrate=none"], dnncc.IO, "none"),
    (["--quantize", "--samples=2"], dnncc.USAGE, "--samples wants --calibrate"),
    (["--quantize", "--calibrate=samples.npz", "--exact"], dnncc.USAGE, "not with --exact"),
    (["--quantize", "--calibrate=nan.npz"], dnncc.INVALID, "NaN"),
    (["--quantize", "--calibrate=samples.npz", "--quantize-weights=u4"], dnncc.USAGE, "want s8 or s4"),
    (["--quantize", "--calibrate=samples.npz", "--quantize-weights=s4:32"], dnncc.USAGE, "want s8 or s4"),
])
def test_errors(options, code, text, tmp_path):
    m, *_ = chain(tmp_path)
    np.savez(tmp_path / "nan.npz", x=np.full((2, 1, 3, 8, 8), np.nan, np.float32))
    options = [o.replace("=", f"={tmp_path}/") if o.startswith("--cal") else o for o in options]
    error = compiled(m.path, tmp_path / "e", *options, code=code)
    assert text in error and error.count(": error: ") == 1
    assert not list((tmp_path / "e").iterdir())


# ---- rounding ----

def learnable(m, scales=1):
    """samples of the model's input as nature makes them: what is near is alike. Some more are held back"""
    r = np.random.default_rng(5)
    size = int(np.prod(m.shape))
    mix = r.normal(0, 1, (size, size)) / np.sqrt(size) * np.exp(-.15 * np.arange(size))
    xs = (np.tanh(r.normal(0, 1, (56, size))) @ mix.T * 3 + .5).reshape(-1, *m.shape).astype(np.float32) * scales
    np.savez(m.folder / "samples.npz", x=xs[:48])
    m.x, m.held = xs[48], xs[48:]
    return m


def model_of(m, *options):
    path = m.folder / f"made{len(list(m.folder.iterdir()))}.onnx"
    done = dnncc.run([dnncc.DNNCC, m.path, "--emit=onnx", "-o", path, "--quantize", f"--calibrate={m.folder / 'samples.npz'}", *options])
    assert done.returncode == dnncc.OK, done.stderr
    return onnx.load(path)


def numbers(model, shape):
    """of the weights in bytes that have this shape"""
    found = [numpy_helper.to_array(c) for c in model.graph.initializer]
    found, = [c.astype(float) for c in found if c.dtype == np.int8 and shape in (c.shape, c.shape[::-1])]
    return found if found.shape == shape else found.T


def values_of(m, name, xs):
    """what a value of the model holds"""
    model = onnx.load(m.path)
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [x if name == "x" else session.run([name], {"x": x})[0] for x in xs]


def samples_of(m, name):
    return values_of(m, name, np.load(m.folder / "samples.npz")["x"])


def matrix(rows, centred):
    """H as docs/quantization.md has it"""
    n = len(rows)
    c = rows.T @ rows / n - (np.outer(rows.mean(0), rows.mean(0)) if centred else 0)
    varies = np.diag(c) > 1e-12
    deviation = np.sqrt(np.diag(c)[varies])
    t, p = ((c[varies][:, varies] / np.outer(deviation, deviation)) ** 2).sum(), varies.sum()
    shrink = min(1, ((1 - 2 / p) * t + p * p) / ((n + 1 - 2 / p) * (t - p)))
    return np.where(np.eye(len(c)) > 0, c, (1 - shrink) * c)


def losses(h, d):
    return np.einsum("ok,kl,ol->o", d, h, d)


def check_rounding(h, w, q, plain):
    """w in steps, both [outputs, depth]: on either side of each weight; less loss than the nearest; and no single number gains"""
    d, least = w - q, w - plain
    assert (np.abs(d) < 1 + 1e-4).all() and (np.abs(least) < .5 + 1e-4).all() and (q != plain).any()
    better, nearest = losses(h, d), losses(h, least)
    assert (better <= nearest * (1 + 1e-4)).all() and better.sum() < .9 * nearest.sum()
    move = np.where(d > 0, 1, -1)
    gain = 2 * move * (d @ h) - np.diag(h)
    assert (gain[np.abs(q + move) <= 127] < 2e-3 * np.diag(h).max()).all()


def windows(x):
    """rows of a convolution of 3 x 3 with zeros around"""
    x = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3)).transpose(0, 2, 3, 1, 4, 5).reshape(-1, x.shape[1], 9)


@pytest.mark.sample(2)
@pytest.mark.parametrize("more", ["", ",-correct"])
def test_numbers_make_the_loss_least(more, tmp_path):
    """of a convolution, a depthwise one, and a product, on the rows that the samples show"""
    m, w, _ = chain(tmp_path)
    learnable(m)
    made, plain = (model_of(m, "--limit", "moment_rows=1000", f"--quantize-steps={steps}") for steps in (f"+round{more}", f"-round{more}"))
    first, second, flat = (np.concatenate(samples_of(m, name)) for name in ("x", "relu1", "flat"))
    for k, rows in (0, windows(first).reshape(-1, 27)), (2, flat):
        depth = rows.shape[1]
        scale = np.abs(w[k].reshape(-1, depth)).max(1, keepdims=True) / 127
        check_rounding(matrix(rows.astype(float), not more), w[k].reshape(-1, depth) / scale,
                       *(numbers(q, w[k].shape).reshape(-1, depth) for q in (made, plain)))
    rows, q, nearest = windows(second), numbers(made, w[1].shape), numbers(plain, w[1].shape)
    for c in range(8):
        own = w[1][c].reshape(1, 9)
        h = matrix(rows[:, c].astype(float), not more)
        d = [own / (np.abs(own).max() / 127) - n[c].reshape(1, 9) for n in (q, nearest)]
        assert losses(h, d[0]) <= losses(h, d[1]) * (1 + 1e-4)


def outputs(m, xs, *options):
    folder = m.folder / f"run{len(list(m.folder.iterdir()))}"
    folder.mkdir()
    dnncc.compile_model(m.path, folder, [*options])
    program = dnncc.build_host(folder, ["-O1"])
    return np.stack([dnncc.run_host(program, [x])[0] for x in xs]).astype(float)


def noise(m, *options):
    """decibels of what --quantize makes of inputs that did not calibrate"""
    samples = f"--calibrate={m.folder / 'samples.npz'}"
    y, z = outputs(m, m.held), outputs(m, m.held, "--quantize", samples, "--cc=cc -O0", *options)
    return 10 * np.log10((y ** 2).sum() / ((y - z) ** 2).sum())


@pytest.mark.long
def test_rounding_loses_less(tmp_path):
    """also on inputs that it did not see"""
    m = learnable(chain(tmp_path)[0])
    assert noise(m) > noise(m, "--quantize-steps=-round") + .5
    assert noise(m, "--quantize-weights=s4") > noise(m, "--quantize-weights=s4", "--quantize-steps=-round") + 2


@pytest.mark.long
def test_many_rows_and_little_memory(tmp_path):
    """some rows do for all; a layer whose products have no room is rounded to the nearest"""
    m = learnable(chain(tmp_path)[0])
    assert noise(m, "--limit", "moment_rows=1") > noise(m, "--quantize-steps=-round")
    few, none = (model_of(m, "--limit", f"moment_bytes={n}") for n in (16 * 1024, 1))
    assert any((numbers(few, s) != numbers(none, s)).any() for s in [(8, 3, 3, 3)])
    assert (numbers(few, (20, 128)) == numbers(none, (20, 128))).all()
    assert (numbers(none, (20, 128)) == numbers(model_of(m, "--quantize-steps=-round"), (20, 128))).all()


def test_steps_that_learn_want_samples(tmp_path):
    m, *_ = chain(tmp_path)
    for step in "round", "+round", "correct,equalize", "+smooth":
        error = compiled(m.path, tmp_path / step, f"--quantize={m.file}", f"--quantize-steps={step}", code=dnncc.USAGE)
        assert "learns from samples: --calibrate=PATH" in error


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "mnist"])
@pytest.mark.sample(4)
def test_four_bits_of_trained_models(name, tmp_path):
    """lose a point and a half at most"""
    model, samples, x, labels = quantizing.there(name, quantization.TASKS[name]())
    np.savez(tmp_path / "samples.npz", **{quantization.inputs(model)[0].name: samples[:, None]})
    options = ["--quantize", f"--calibrate={tmp_path / 'samples.npz'}", "--quantize-weights=s4"]
    right, made = ((quantization.outputs(model, x, o).argmax(1) == labels).mean() for o in ([], options))
    assert made >= right - .015


# ---- channels ----

OUTLIERS = np.array([300, 1, 1, .01, 40, 1, 1, 1], np.float32)


def planted(w, axis, factors=OUTLIERS):
    """weights whose channels along an axis are larger"""
    return w * factors.reshape([-1 if d == axis else 1 for d in range(w.ndim)])


def between(m, how, factors):
    """two layers, what `how` says between them; channels of the first one are larger by the factors"""
    w1, b1 = planted(m.weights(8, 3, 3, 3), 0, factors), m.biases(8) * factors
    m.node("Conv", ["x", w1, b1], "conv1", pads=[1] * 4)
    x, each = how(m), 1
    if x == "flat":
        each = 16
        w2 = planted(m.weights(5, 8 * 16), 1, np.repeat(1 / factors, each))
        m.node("Gemm", [x, w2, m.biases(5)], "y", transB=1)
    else:
        m.node("Conv", [x, planted(m.weights(6, 8, 3, 3), 1, 1 / factors), m.biases(6)], "y")
    return learnable(m.finish("y"))


def pooled(m):
    m.node("Relu", ["conv1"], "relu")
    m.node("MaxPool", ["relu"], "pool", kernel_shape=[2, 2], strides=[2, 2])
    return m.node("Pad", ["pool", np.array([0, 0, 1, 1, 0, 0, 1, 1])], "pad")


def averaged(m):
    m.node("Relu", ["conv1"], "relu")
    return m.node("AveragePool", ["relu"], "pool", kernel_shape=[3, 3], strides=[2, 2])


def flat(m):
    m.node("MaxPool", ["conv1"], "pool", kernel_shape=[2, 2], strides=[2, 2])
    return m.node("Flatten", ["pool"], "flat")


def depthwise(m):
    m.node("Relu", ["conv1"], "relu")
    m.node("Conv", ["relu", m.weights(8, 1, 3, 3), np.zeros(8, np.float32)], "depth", group=8, pads=[1] * 4)
    return m.node("Relu", ["depth"], "relu2")


def turned(m):
    m.node("Relu", ["conv1"], "relu")
    m.node("Transpose", ["relu"], "t", perm=[0, 1, 3, 2])
    return m.node("Mul", ["t", np.array(.5, np.float32)], "half")


def plain(m):
    return "conv1"


@pytest.mark.parametrize("how", [plain, pooled, averaged, flat, depthwise, turned])
@pytest.mark.sample(6)
def test_channels_between_layers(how, tmp_path):
    """outliers that the next layer takes back cost nothing any more"""
    folders = [tmp_path / name for name in ("even", "planted")]
    for f in folders:
        f.mkdir()
    even, odd = (between(Model(f, [1, 3, 8, 8]), how, factors) for f, factors in zip(folders, (np.ones(8, np.float32), OUTLIERS)))
    good, bad, mended = noise(even), noise(odd), noise(odd, "--quantize-steps=+equalize")
    assert bad < good - 8 and mended > good - 3, (good, bad, mended)


@pytest.mark.sample(2)
@pytest.mark.parametrize("most, scaled", [(6, False), (None, True)])
def test_bounds_of_all_channels_end_it(most, scaled, tmp_path):
    """a bound that is the same for all channels is none of scaled ones"""
    def bounded(m):
        return m.node("Clip", ["conv1", np.array(0, np.float32)] + ([np.array(most, np.float32)] if most else []), "clip")

    m = between(Model(tmp_path, [1, 3, 8, 8]), bounded, OUTLIERS)
    codes = [compiled(m.path, tmp_path / f"c{i}", "--quantize", f"--calibrate={tmp_path / 'samples.npz'}", *more)
             for i, more in enumerate(([], ["--quantize-steps=+equalize"]))]
    assert (codes[0] != codes[1]) == scaled


def test_other_readers_end_it(tmp_path):
    m = Model(tmp_path, [1, 3, 8, 8])
    m.node("Conv", ["x", planted(m.weights(8, 3, 1, 1), 0), m.biases(8)], "conv1")
    m.node("Conv", ["conv1", planted(m.weights(6, 8, 1, 1), 1, 1 / OUTLIERS), m.biases(6)], "y")
    m.node("Sigmoid", ["conv1"], "z")
    m.finish("y", "z")
    codes = [compiled(m.path, tmp_path / f"c{i}", "--quantize", f"--calibrate={tmp_path / 'samples.npz'}", *more)
             for i, more in enumerate(([], ["--quantize-steps=+equalize,+smooth"]))]
    assert codes[0] == codes[1]


LOUD = np.array([40, 1, 1, 1, 1, 15, 1, 1], np.float32)


def norm(m, readers, residual):
    """products of a norm some of whose channels are always larger, by the norm or by its scale; and perhaps others that read it"""
    m.node("LayerNormalization", ["x", LOUD if residual else np.ones(8, np.float32), m.biases(8)], "norm", axis=-1)
    for i in range(readers):
        m.node("MatMul", ["norm", planted(m.weights(8, 8), 0, 1 / LOUD)], f"product{i}")
    m.node("Add", ["product0", "product1" if readers > 1 else m.biases(8)], "sum")
    if residual:
        m.node("Add", ["sum", "norm"], "y")
    return learnable(m.finish("y" if residual else "sum"), 1 if residual else LOUD)


@pytest.mark.sample(3)
@pytest.mark.parametrize("readers, residual", [(1, False), (2, False), (2, True)])
def test_norms_take_scales_in(readers, residual, tmp_path):
    """or where nothing there can, or others read the norm, a product behind it does"""
    m = norm(Model(tmp_path, [1, 12, 8]), readers, residual)
    assert noise(m, "--quantize-steps=+smooth") > noise(m) + 2
