# SPDX-License-Identifier: MIT
"""--train: a step of training as C, against the same step in numpy."""
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

F = TensorProto.FLOAT
node = helper.make_node
STEPS, RATE = 100, 0.01
X = np.random.default_rng(2).normal(size=(6, 4)).astype(np.float32)
LABELS = np.eye(3, dtype=np.float32)[[0, 1, 2, 2, 1, 0]]


def weights():
    rng = np.random.default_rng(1)
    return {"w1": rng.normal(size=(4, 5)).astype(np.float32), "b1": np.zeros(5, np.float32),
            "w2": rng.normal(size=(5, 3)).astype(np.float32)}


def save(path, initializers=None):
    constants = {**(weights() if initializers is None else initializers), "axes": np.array([0, 1])}
    nodes = [node("Gemm", ["x", "w1", "b1"], ["h"]), node("Relu", ["h"], ["r"]), node("MatMul", ["r", "w2"], ["logits"]),
             node("LogSoftmax", ["logits"], ["p"], axis=1), node("Mul", ["p", "labels"], ["q"]),
             node("ReduceSum", ["q", "axes"], ["s"], keepdims=0), node("Neg", ["s"], ["loss"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, (6, 4)), helper.make_tensor_value_info("labels", F, (6, 3))],
                              [helper.make_tensor_value_info("loss", F, ()), helper.make_tensor_value_info("logits", F, (6, 3))],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


# the formulas of torch.optim, and of the paper for Lion: (w, g, states, t) -> w, in place
def sgd(w, g, s, t):
    return w - RATE * g


def momentum(w, g, s, t):
    s["m"] = 0.9 * s["m"] + g
    return w - RATE * s["m"]


def nesterov(w, g, s, t):
    s["m"] = 0.9 * s["m"] + g
    return w - RATE * (g + 0.9 * s["m"])


def adam(w, g, s, t, decay=0.0):
    s["m"], s["v"] = 0.9 * s["m"] + 0.1 * g, 0.999 * s["v"] + 0.001 * g * g
    step = s["m"] / (1 - 0.9 ** t) / (np.sqrt(s["v"] / (1 - 0.999 ** t)) + 1e-8)
    return w * (1 - RATE * decay) - RATE * step


def adamw(w, g, s, t):
    return adam(w, g, s, t, 0.01)


def adagrad(w, g, s, t):
    s["s"] = s["s"] + g * g
    return w - RATE * g / (np.sqrt(s["s"]) + 1e-10)


def rmsprop(w, g, s, t):
    s["v"] = 0.99 * s["v"] + 0.01 * g * g
    return w - RATE * g / (np.sqrt(s["v"]) + 1e-8)


def lion(w, g, s, t):
    way = np.sign(0.9 * s["m"] + 0.1 * g)
    s["m"] = 0.99 * s["m"] + 0.01 * g
    return w - RATE * way


OPTIMIZERS = {"sgd": (sgd, ""), "momentum": (momentum, "m"), "nesterov": (nesterov, "m"), "adam": (adam, "mv"), "adamw": (adamw, "mv"),
              "adagrad": (adagrad, "s"), "rmsprop": (rmsprop, "v"), "lion": (lion, "m")}


def shares_of(logits):
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def summed(logits):
    """the loss of the model, and its derivative by the logits"""
    shares = shares_of(logits)
    return -np.sum(np.log(shares) * LABELS), shares - LABELS


def expected(name, loss_of=summed, frozen=(), clip=lambda g: g, every=1, ema=None):
    """losses, and logits in the end, in f64; every: the steps whose gradients' mean makes an update"""
    update, states = OPTIMIZERS[name]
    p = {n: a.astype(float) for n, a in weights().items()}
    kept = {n: {s: np.zeros_like(a) for s in states} for n, a in p.items()}
    means, sums = dict(p), {n: 0 for n in p if n not in frozen}
    losses = []
    for t in range(1, STEPS + 1):
        h = X @ p["w1"] + p["b1"]
        r = np.maximum(h, 0)
        loss, by_logits = loss_of(r @ p["w2"])
        losses.append(loss)
        by_h = by_logits @ p["w2"].T * (h > 0)
        g = {"w1": X.T @ by_h, "b1": by_h.sum(axis=0), "w2": r.T @ by_logits}
        sums = {n: sums[n] + g[n] for n in sums}
        if t % every:
            continue
        g = clip({n: d / every for n, d in sums.items()})
        p = {**p, **{n: update(p[n], g[n], kept[n], t // every) for n in g}}
        sums = {n: 0 for n in sums}
        means = {n: ema * means[n] + (1 - ema) * p[n] for n in p} if ema else dict(p)
    return losses, np.maximum(X @ means["w1"] + means["b1"], 0) @ means["w2"]


MAIN = """#include <stdio.h>
#include "model.h"
MODEL_STATE_DEFINE(state);
static unsigned char workspace[MODEL_WORKSPACE_SIZE + 1] __attribute__((aligned(64)));
int main(void)
{
        static float x[24], loss[1], logits[18];
        static %s labels[%d];
        enum { BYTES = sizeof labels };
        if (fread(x, 4, 24, stdin) != 24 || fread(labels, 1, BYTES, stdin) != BYTES || model_init_run(workspace, &state))
                return 1;
        for (int i = 0; i < %d; i++)
                if (model_train_run(workspace, &state, x, labels, %sloss) || fwrite(loss, 4, 1, stdout) != 1)
                        return 2;
        if (model_infer_run(workspace, &state, x, logits) || fwrite(logits, 4, 18, stdout) != 18)
                return 3;
        return 0;
}
"""


def trained(folder, options, rate="", flags=("-O1",), labels=LABELS, model=save):
    """losses of the steps, and the logits that come of the weights in the end"""
    dnncc.compile_model(model(folder / "m.onnx"), folder, options)
    (folder / "main.c").write_text(MAIN % ("float" if labels.dtype == np.float32 else "int64_t", labels.size, STEPS, rate))
    subprocess.run([dnncc.CC, *dnncc.STRICT, *flags, folder / "model.c", folder / "main.c", "-o", folder / "program"], check=True)
    done = subprocess.run([folder / "program"], input=X.tobytes() + labels.tobytes(), capture_output=True, check=True)
    out = np.frombuffer(done.stdout, np.float32)
    return out[:STEPS], out[STEPS:].reshape(6, 3)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(tmp_path, name):
    losses, logits = trained(tmp_path, [f"--train={name},lr={RATE}", "--loss=loss"], flags=dnncc.SANITIZE)
    want, want_logits = expected(name)
    np.testing.assert_allclose(losses, want, rtol=1e-3)
    np.testing.assert_allclose(logits, want_logits, rtol=1e-2, atol=1e-2)
    assert losses[-1] < 0.8 * losses[0]


# ---- kinds of losses ----

CLASSES = np.array([0, 1, -1, 2, 1, 0])          # the third sample does not count


def cross_entropy(logits):
    counts = CLASSES >= 0
    picked = np.log(shares_of(logits))[np.arange(6), np.maximum(CLASSES, 0)]
    return -picked[counts].mean(), (shares_of(logits) - np.eye(3)[CLASSES]) * counts[:, None] / counts.sum()


def mse(logits):
    return np.mean((logits - LABELS) ** 2), 2 * (logits - LABELS) / 18


def binary_cross_entropy(logits):
    ones = 1 / (1 + np.exp(-logits))
    return -np.mean(LABELS * np.log(ones) + (1 - LABELS) * np.log(1 - ones)), (ones - LABELS) / 18


LOSSES = [(cross_entropy, "cross_entropy:logits", CLASSES), (cross_entropy, "cross_entropy@-1:logits,y", CLASSES),
          (cross_entropy, "likelihood:p", CLASSES), (mse, "mse:logits", LABELS), (binary_cross_entropy, "binary_cross_entropy:logits", LABELS)]


def save_logits(path):
    """the outputs logits and p = log softmax(logits)"""
    m = onnx.load(save(path))
    del m.graph.node[4:], m.graph.input[1], m.graph.output[0]
    m.graph.output.append(helper.make_tensor_value_info("p", F, (6, 3)))
    onnx.save(m, path)
    return path


@pytest.mark.parametrize("reference, option, labels", LOSSES, ids=[option for _, option, _ in LOSSES])
def test_losses(tmp_path, monkeypatch, reference, option, labels):
    monkeypatch.setattr(sys.modules[__name__], "MAIN", MAIN.replace("x, logits)", "x, logits, p)").replace("logits[18]", "logits[18], p[18]"))
    losses, logits = trained(tmp_path, ["--train=momentum,lr=0.01", f"--loss={option}"], labels=labels, model=save_logits)
    want, want_logits = expected("momentum", reference)
    np.testing.assert_allclose(losses, want, rtol=1e-4)
    np.testing.assert_allclose(logits, want_logits, rtol=1e-3, atol=1e-3)


def opened(path):
    """the number of samples is a run's, at most 8; the loss is one of ONNX's operators"""
    m = onnx.load(save_logits(path))
    del m.graph.node[4:], m.graph.output[1]
    m.graph.node.append(node("SoftmaxCrossEntropyLoss", ["logits", "y"], ["loss"], ignore_index=-1))
    m.graph.input.append(helper.make_tensor_value_info("y", TensorProto.INT64, ("N",)))
    m.graph.output.append(helper.make_tensor_value_info("loss", F, ()))
    for port in (m.graph.input[0], m.graph.output[0]):
        port.type.tensor_type.shape.dim[0].dim_param = "N"
    onnx.save(m, path)
    return path


def opened_logits(path):
    m = onnx.load(opened(path))
    del m.graph.node[-1], m.graph.input[1], m.graph.output[1]
    onnx.save(m, path)
    return path


OPENED = [("loss", opened, CLASSES, cross_entropy), ("cross_entropy:logits", opened_logits, CLASSES, cross_entropy), ("mse:logits", opened_logits, LABELS, mse),
          ("binary_cross_entropy:logits", opened_logits, LABELS, binary_cross_entropy)]


@pytest.mark.parametrize("option, model, labels, reference", OPENED, ids=[option for option, *_ in OPENED])
def test_samples_of_a_run(tmp_path, monkeypatch, option, model, labels, reference):
    monkeypatch.setattr(sys.modules[__name__], "MAIN", MAIN.replace("x, labels,", "x, labels, 6,").replace("x, logits)", "x, 6, logits)"))
    losses, logits = trained(tmp_path, ["--train=momentum,lr=0.01", f"--loss={option}", "--dim=N=1..8"], labels=labels, model=model)
    want, want_logits = expected("momentum", reference)
    np.testing.assert_allclose(losses, want, rtol=1e-4)
    np.testing.assert_allclose(logits, want_logits, rtol=1e-3, atol=1e-3)


HALF = """#include "model.h"
#include <stdio.h>
MODEL_STATE_DEFINE(state);
static unsigned char workspace[MODEL_WORKSPACE_SIZE + 1] __attribute__((aligned(64)));
static uint16_t x[70000], labels[70000], loss[1];
int main(void)
{
        for (int i = 0; i < 70000; i++)
                x[i] = 0x3c00;
        if (model_init_run(workspace, &state) || model_train_run(workspace, &state, x, labels, loss))
                return 1;
        return printf("%x\\n", loss[0]) < 0;
}
"""


def test_mean_of_many_halves(tmp_path):
    """the number of elements, and their sum, are no numbers of f16"""
    half = TensorProto.FLOAT16
    graph = helper.make_graph([node("Mul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", half, (70000,))],
                              [helper.make_tensor_value_info("y", half, (70000,))], [numpy_helper.from_array(np.array([2], np.float16), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, ["--train=sgd,lr=0.01", "--loss=mse:y"])
    (tmp_path / "main.c").write_text(HALF)
    subprocess.run([dnncc.CC, *dnncc.STRICT, "-O1", tmp_path / "model.c", tmp_path / "main.c", "-o", tmp_path / "program"], check=True)
    assert subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True).stdout == "4400\n"        # 4


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_weights_are_updated_in_place(tmp_path, name):
    """each of a kernel's results, a weight or a state of the optimizer, lies where the one before does"""
    done = dnncc.run([dnncc.DNNCC, save(tmp_path / "m.onnx"), f"--train={name}", "--loss=loss", "--emit=loops", "-o", "-"])
    step = re.search(r"^main @train \{\n(.*?)^\}", done.stdout, re.M | re.S)[1]
    assert len(re.findall("call @", step)) > 10 and "@copy" not in step, step


# ---- what is updated, and by how much at most ----

@pytest.mark.parametrize("options, frozen", [(["--update=w*"], ["b1"]), (["--update=w1", "--update=b1"], ["w2"]), (["--update=w*", "--freeze=w2"], ["b1", "w2"]),
                                             (["--freeze=w1"], ["w1"]), (["--freeze=w*"], ["w1", "w2"]), (["--freeze=b1", "--freeze=w2"], ["b1", "w2"]),
                                             (["--update=bias"], ["w1", "w2"]), (["--freeze=bias"], ["b1"]), (["--update=last:1"], ["w1", "b1"]),
                                             (["--update=last:2", "--freeze=bias"], ["b1"]), (["--freeze=last:1"], ["w2"])])
def test_frozen_weights(tmp_path, options, frozen):
    losses, logits = trained(tmp_path, ["--train=adam,lr=0.01", "--loss=loss", *options])
    want, want_logits = expected("adam", frozen=frozen)
    np.testing.assert_allclose(losses, want, rtol=1e-4)
    np.testing.assert_allclose(logits, want_logits, rtol=1e-3, atol=1e-3)


def test_recorded_moments(tmp_path):
    """scale and bias of a normalization are trained, its recorded moments are not, whatever is chosen"""
    m = onnx.load(save(tmp_path / "m.onnx"))
    m.graph.node[1].input[0] = "n"
    m.graph.node.insert(1, node("BatchNormalization", ["h", "scale", "bias", "mean", "variance"], ["n"]))
    m.graph.initializer.extend(numpy_helper.from_array(np.full(5, v, np.float32), n) for n, v in (("scale", 1), ("bias", 0), ("mean", .25), ("variance", 2)))
    onnx.save(m, tmp_path / "m.onnx")
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, ["--train=sgd", "--loss=loss"])
    kept = re.findall(r"^ \* state->(\w+)", (tmp_path / "model.h").read_text(), re.M)
    assert sorted(set(kept)) == ["b1", "bias", "scale", "step", "w1", "w2"]


def kept_by(path, folder, *options):
    """the weights of a step's state"""
    dnncc.compile_model(path, folder, ["--train=sgd", "--loss=loss", *options])
    return sorted({*re.findall(r"^ \* state->(\w+)", (folder / "model.h").read_text(), re.M)} - {"step"})


def test_kinds_of_weights(tmp_path):
    """a name of the model comes first; a bias that something else reads, too, is none; a weight that is read twice counts by its first reader"""
    m = onnx.load(save(tmp_path / "m.onnx"))
    assert kept_by(tmp_path / "m.onnx", tmp_path, "--update=bias") == ["b1"]
    m.graph.node[0].input[1] = m.graph.initializer[0].name = "bias"
    onnx.save(m, tmp_path / "named.onnx")
    assert kept_by(tmp_path / "named.onnx", tmp_path, "--update=bias") == ["bias"]
    m = onnx.load(save(tmp_path / "m.onnx"))
    m.graph.node[-1].output[0] = "less"
    m.graph.node.extend([node("ReduceSum", ["b1"], ["sum"], keepdims=0), node("Mul", ["w1", "w1"], ["square"]), node("ReduceSum", ["square"], ["more"], keepdims=0),
                         node("Sum", ["less", "sum", "more"], ["loss"])])
    onnx.save(m, tmp_path / "twice.onnx")
    assert kept_by(tmp_path / "twice.onnx", tmp_path, "--update=last:1") == ["w2"]
    done = dnncc.run([dnncc.DNNCC, tmp_path / "twice.onnx", "--train=sgd", "--loss=loss", "--update=bias", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.USAGE and "no initializer of floats is 'bias'" in done.stderr


def by_norm(g):
    norm = np.sqrt(sum(np.sum(d * d) for d in g.values()))
    return {n: d * min(1, 0.5 / (norm + 1e-6)) for n, d in g.items()}


def by_value(g):
    return {n: np.clip(d, -0.25, 0.25) for n, d in g.items()}


@pytest.mark.parametrize("option, clip", [("norm:0.5", by_norm), ("value:0.25", by_value)])
def test_clipped_gradients(tmp_path, option, clip):
    losses, logits = trained(tmp_path, ["--train=sgd,lr=0.01", "--loss=loss", f"--grad-clip={option}"])
    want, want_logits = expected("sgd", clip=clip)
    np.testing.assert_allclose(losses, want, rtol=1e-4)
    np.testing.assert_allclose(logits, want_logits, rtol=1e-3, atol=1e-3)
    assert abs(want[-1] - expected("sgd")[0][-1]) > 1e-2, "nothing was clipped"


@pytest.mark.parametrize("optimizer, every", [("sgd", 4), ("adam", 3), ("momentum", 7)])
def test_accumulated_gradients(tmp_path, optimizer, every):
    losses, logits = trained(tmp_path, [f"--train={optimizer},lr=0.01", "--loss=loss", f"--accumulate={every}", "--grad-clip=norm:0.5"])
    want, want_logits = expected(optimizer, clip=by_norm, every=every)
    np.testing.assert_allclose(losses, want, rtol=1e-4)
    np.testing.assert_allclose(logits, want_logits, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("every", [1, 4])
def test_means_of_weights(tmp_path, every):
    losses, logits = trained(tmp_path, ["--train=sgd,lr=0.01", "--loss=loss", "--ema=0.9", f"--accumulate={every}"])
    want, want_logits = expected("sgd", every=every, ema=0.9)
    np.testing.assert_allclose(losses, want, rtol=1e-4)
    np.testing.assert_allclose(logits, want_logits, rtol=1e-3, atol=1e-3)
    assert np.abs(want_logits - expected("sgd", every=every)[1]).max() > 0.01, "means are no weights"


def test_decay(tmp_path):
    """a decay of 0 is no term of the step: 0 times a weight that is infinite is nothing"""
    products = []
    for decay in ("0", "0.3125"):
        done = dnncc.run([dnncc.DNNCC, save(tmp_path / "m.onnx"), "-o", "-", f"--train=sgd,lr=0.5,decay={decay}", "--loss=loss", "--emit=ir"])
        assert done.returncode == 0, done.stderr
        products.append(done.stdout.count(" mul("))
    assert products[0] + 3 <= products[1], products


def renamed(path, old, new):
    """the model with another name for a value"""
    m = onnx.load(save(path))
    for n in m.graph.node:
        for names in (n.input, n.output):
            names[:] = [new if name == old else name for name in names]
    for v in [*m.graph.input, *m.graph.output, *m.graph.initializer]:
        v.name = new if v.name == old else v.name
    onnx.save(m, path)
    return path


@pytest.mark.parametrize("old, new", [("x", "rate"), ("x", "step"), ("w2", "step"), ("w2", "x.next"), ("labels", "w1.next"),
                                      ("logits", "w1.next"), ("w2", "w1.m"), ("logits", "rate")])
def test_names_that_the_model_has_already(tmp_path, old, new):
    dnncc.compile_model(renamed(tmp_path / "m.onnx", old, new), tmp_path, ["--train=momentum", "--loss=loss"])
    subprocess.run([dnncc.CC, *dnncc.STRICT, "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"], check=True)


TABLE = re.findall(r"^OPTIMIZER\((\w+), STATES\(.*?\), NUMBERS\((.*?)\),\n", (dnncc.ROOT / "ir/adjoint/optimizers.def").read_text(), re.M)


def test_every_row_has_a_reference():
    assert sorted(name for name, _ in TABLE) == sorted(OPTIMIZERS)


@pytest.mark.parametrize("name, numbers", TABLE)
def test_guide_has_every_row(name, numbers):
    presets = ", ".join(f"`{number}={preset}`" for number, preset in re.findall(r'{ "(\w+)", ([\d.e-]+),', numbers))
    assert f"| `{name}` | {presets} |" in (dnncc.ROOT / "docs/user-guide.md").read_text()


def test_rate_of_a_run(tmp_path):
    """without lr= the learning rate is an input"""
    losses, _ = trained(tmp_path, ["--train=sgd", "--loss=loss"], rate=f"&(float){{{RATE}f}}, ")
    np.testing.assert_allclose(losses, expected("sgd")[0], rtol=1e-3)


@pytest.mark.parametrize("options, code, text", [
    (["--train=adam"], dnncc.USAGE, "--loss"),
    (["--loss=loss"], dnncc.USAGE, "--train"),
    (["--train=adamm", "--loss=loss"], dnncc.USAGE, "no optimizer is called 'adamm'"),
    (["--train=adam,beta3=1", "--loss=loss"], dnncc.USAGE, "adam has no number 'beta3'"),
    (["--train=adam,beta1=1", "--loss=loss"], dnncc.USAGE, "beta1 wants a number from 0 on, below 1"),
    (["--train=adam,lr=-1", "--loss=loss"], dnncc.USAGE, "lr wants a number from 0 on"),
    (["--train=adam,lr=", "--loss=loss"], dnncc.USAGE, "lr wants a number"),
    (["--train=adam,lr=nan", "--loss=loss"], dnncc.USAGE, "lr wants a number"),
    (["--train=sgd", "--loss=los"], dnncc.USAGE, "want an output of one number, a float, or a kind of loss and an output, did you mean 'loss'?"),
    (["--train=sgd", "--loss=logits"], dnncc.USAGE, "output 'logits' is <6 x 3 x f32>: want one number, a float"),
    (["--train=sgd", "--loss=mse"], dnncc.USAGE, "want an output of one number, a float, or a kind"),
    (["--train=sgd", "--loss=mse:"], dnncc.USAGE, "'' is no output of floats"),
    (["--train=sgd", "--loss=mse:logit"], dnncc.USAGE, "'logit' is no output of floats, did you mean 'logits'?"),
    (["--train=sgd", "--loss=mse:logits"], dnncc.USAGE, "there is an input 'labels' already"),
    (["--train=sgd", "--loss=mse:logits,"], dnncc.USAGE, "the labels want a name"),
    (["--train=sgd", "--loss=mse@0:logits,y"], dnncc.USAGE, "want an output of one number"),
    (["--train=sgd", "--loss=cross_entropy@2:logits,y"], dnncc.USAGE, "has no axis 2"),
    (["--train=sgd", "--loss=cross_entropy@99999999999:logits,y"], dnncc.USAGE, "has no axis"),
    (["--train=sgd", "--loss=loss", "--freeze=w3"], dnncc.USAGE, "no initializer of floats is 'w3'"),
    (["--train=sgd", "--loss=loss", "--freeze=*"], dnncc.USAGE, "that is updated"),
    (["--train=sgd", "--loss=loss", "--update=w3"], dnncc.USAGE, "--update: no initializer of floats is 'w3'"),
    (["--train=sgd", "--loss=loss", "--update=last:3"], dnncc.USAGE, "--update: 'last:3': there are 2 layers with initializers"),
    (["--train=sgd", "--loss=loss", "--freeze=last:0"], dnncc.USAGE, "want last:K, K from 1 on"),
    (["--train=sgd", "--loss=loss", "--update=last:1x"], dnncc.USAGE, "want last:K, K from 1 on"),
    (["--train=sgd", "--loss=loss", "--ema=1"], dnncc.USAGE, "want a number from 0 on, below 1"),
    (["--train=sgd", "--loss=loss", "--ema=x"], dnncc.USAGE, "want a number from 0 on, below 1"),
    (["--train=sgd", "--loss=loss", "--accumulate=0"], dnncc.USAGE, "--accumulate"),
    (["--train=sgd", "--loss=loss", "--grad-clip=norm:0"], dnncc.USAGE, "want norm:N or value:N"),
    (["--train=sgd", "--loss=loss", "--grad-clip=norm"], dnncc.USAGE, "want norm:N or value:N"),
    (["--train=sgd", "--loss=loss", "--grad-clip=value:1x"], dnncc.USAGE, "want norm:N or value:N"),
    (["--freeze=w1"], dnncc.USAGE, "--train"),
    (["--train=sgd", "--loss=loss", "--target=cuda-sm_80"], dnncc.UNSUPPORTED, "it has nothing for cuda-sm_80"),
    (["--train=sgd", "--loss=loss", "--target=vta"], dnncc.UNSUPPORTED, "it has nothing for vta"),
    (["--train=sgd", "--loss=loss", "--target=unified"], dnncc.UNSUPPORTED, "it has nothing for unified"),
    (["--train=sgd", "--loss=loss", "--entry=a"], dnncc.USAGE, "--entry"),
])
def test_errors(tmp_path, options, code, text):
    done = dnncc.run([dnncc.DNNCC, save(tmp_path / "m.onnx"), "-o", "-", *options])
    assert done.returncode == code and text in done.stderr, done.stderr
