# SPDX-License-Identifier: MIT
"""What quantization costs in accuracy: models that are trained, on data they were not calibrated with, by dnncc and by onnxruntime's
quantizer (QDQ, a step for each output's weights); and models of the zoo, by the distance of their outputs from those in f32.

    build/venv/bin/python test/bench/quantization.py [NAME ..]          names of TASKS and of zoo models; default: all tasks there is data for
    .. NAME:PART                                                        of a zoo model, by options that have PART in them

Data is loaded, never kept here: digits comes with scikit-learn (pip install scikit-learn==1.9.1), MNIST is two files of
../shared/data/mnist (DNNCC_DATA), CIFAR-10 the folder cifar-10-batches-py or -bin that DNNCC_CIFAR10 names. Calibration takes images alone, no labels.
"""
import contextlib
import gzip
import logging
import os
import pathlib
import pickle
import sys
import tempfile

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "support"), str(ROOT / "test" / "bench")]
import dnncc  # noqa: E402
import quantizing  # noqa: E402

MODELS = pathlib.Path(os.environ.get("DNNCC_MODELS", ROOT.parent / "shared" / "models"))
DATA = pathlib.Path(os.environ.get("DNNCC_DATA", ROOT.parent / "shared" / "data"))
CALIBRATED = 100                        # images
TARGET = "native"
VARIANTS = ((), ("--observer=mse",), ("--observer=percentile-99.99",), ("--activations=s8-symmetric",), ("--quantize-steps=-correct",),
            ("--activations=s16",), ("--activations=u4",), ("--activations=s8-symmetric-powers",), ("--quantize-weights=s8:layer",),
            ("--keep-float=first", "--keep-float=last"), ("--calibrate=SAMPLES",), ("--calibrate=SAMPLES", "--quantize-steps=+equalize,+smooth"),
            ("--quantize-weights=s4",), ("--calibrate=SAMPLES", "--quantize-weights=s4"),
            ("--requantize=shift",), ("--calibrate=SAMPLES", "--requantize=shift"))
ZOO = ((), ("--calibrate=SAMPLES",), ("--quantize-steps=-correct",), ("--quantize-steps=-functions",), ("--observer=mse",),
       ("--activations=s8-symmetric",), ("--keep-float=first", "--keep-float=last"))
FLOATS = (("--quantize-weights=f16",), ("--precision=f16", "--limit=f16_percent=1000000"), ("--precision=bf16", "--limit=bf16_percent=1000000"))
FEW = (("--quantize-weights=s4",), ("--quantize-weights=u4",), ("--quantize-weights=s4", "--calibrate=SAMPLES"),
       ("--quantize-weights=s4", "--calibrate=SAMPLES", "--quantize-steps=+awq"), ("--quantize-weights=s8:32",), ("--quantize=dynamic",))
METHODS = ("MinMax", "Entropy", "Percentile")
MANY = """
#include <stdio.h>
#include "model.h"
MODEL_WORKSPACE_DEFINE(workspace);
int main(int count, char **paths)
{
        static float x[IN], y[OUT];
        FILE *in = fopen(paths[1], "rb"), *out = fopen(paths[count - 1], "wb");
        while (fread(x, sizeof x, 1, in) == 1) {
                if (model_run(&workspace, x, y))
                        return 1;
                fwrite(y, sizeof y, 1, out);
        }
        return fclose(out) != 0;
}
"""


# ---- models and data: (model, images to calibrate with, images, labels), or None where data is not there ----

def digits():
    """360 of scikit-learn's digits that examples/digits was not trained on, as its train.py splits them"""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return None
    data = load_digits()
    x = (data.images / 16).astype(np.float32)[:, None]
    order = np.random.default_rng(1).permutation(len(x))
    return ROOT / "examples" / "digits" / "digits.onnx", x[order[360:360 + CALIBRATED]], x[order[:360]], data.target[order[:360]]


def mnist():
    """the 10,000 test images but the first hundred, which calibrate"""
    folder = DATA / "mnist"
    if not folder.exists():
        return None
    x = np.frombuffer(gzip.open(folder / "t10k-images-idx3-ubyte.gz").read(), np.uint8, offset=16).reshape(-1, 1, 28, 28).astype(np.float32)
    y = np.frombuffer(gzip.open(folder / "t10k-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)
    return MODELS / "mnist_cnn" / "model.onnx", x[:CALIBRATED], x[CALIBRATED:], y[CALIBRATED:]


def cifar_batch(folder, name):
    """images [N, 32, 32, 3] and labels of a file of the binary version (a byte of label, three planes) or of that for Python"""
    binary = pathlib.Path(folder) / f"{name}.bin"
    if binary.exists():
        rows = np.frombuffer(binary.read_bytes(), np.uint8).reshape(-1, 1 + 3 * 32 * 32)
        planes, labels = rows[:, 1:], rows[:, 0]
    else:
        data = pickle.loads((pathlib.Path(folder) / name).read_bytes(), encoding="bytes")
        planes, labels = data[b"data"], np.array(data[b"labels"])
    return planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).astype(np.float32), labels


def cifar_folder(given):
    """where the batches are: the folder itself, or one that holds what either archive holds; None: nowhere"""
    folders = [pathlib.Path(given), *(pathlib.Path(given) / f"cifar-10-batches-{kind}" for kind in ("bin", "py"))]
    return next((f for f in folders if (f / "test_batch.bin").exists() or (f / "test_batch").exists()), None)


def cifar():
    """ResNet-8 on the 10,000 test images; training images calibrate, where there are none the first test images, which count no more"""
    given = os.environ.get("DNNCC_CIFAR10")
    if not given:
        return None

    folder = cifar_folder(given)
    if folder is None:
        raise FileNotFoundError(f"DNNCC_CIFAR10={given}: no test_batch.bin and no test_batch")
    x, y = cifar_batch(folder, "test_batch")
    training = any((folder / f"data_batch_1{end}").exists() for end in ("", ".bin"))
    samples = cifar_batch(folder, "data_batch_1")[0][:CALIBRATED] if training else x[:CALIBRATED]
    skipped = 0 if training else CALIBRATED
    return MODELS / "resnet8_fp32" / "model.onnx", samples, x[skipped:], y[skipped:]


TASKS = {"digits": digits, "mnist": mnist, "cifar": cifar}


# ---- running ----

def outputs(model, x, options=()):
    """of the compiled model, for each of x"""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        dnncc.compile_model(model, folder, [f"--target={TARGET}", *options])
        count = int(next(line for line in (folder / "model.h").read_text().splitlines() if "_ELEMS" in line and "define" in line and
                         not line.split()[1].startswith(tuple(f"MODEL_{i.name.upper()}_" for i in inputs(model)))).split()[-1].strip("()u"))
        (folder / "many.c").write_text(MANY)
        done = dnncc.run([dnncc.CC, "-O2", "-march=native", f"-DIN={x[0].size}", f"-DOUT={count}", f"-I{folder}", folder / "many.c", folder / "model.c",
                          "-o", folder / "many", "-lm"])
        assert done.returncode == 0, done.stderr
        x.astype("<f4").tofile(folder / "x")
        assert dnncc.run([folder / "many", folder / "x", folder / "y"], timeout=600).returncode == 0
        return np.fromfile(folder / "y", "<f4").reshape(len(x), count)


def inputs(model):
    graph = onnx.load(model).graph
    constants = {i.name for i in graph.initializer}
    return [i for i in graph.input if i.name not in constants]


def newest(model):
    """as onnxruntime's quantizer wants it: constants no inputs, opset 13"""
    model = onnx.load(model)
    kept = [i for i in model.graph.input if i.name not in {c.name for c in model.graph.initializer}]
    model.ir_version = max(model.ir_version, 8)
    if model.opset_import[0].version < 13:
        model = onnx.version_converter.convert_version(model, 13)
        names = {i.name for i in kept}
        kept = [i for i in model.graph.input if i.name in names]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return model


def by_onnxruntime(model, samples, x, method):
    import onnxruntime
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    name = inputs(model)[0].name

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.samples = iter(samples)

        def get_next(self):
            sample = next(self.samples, None)
            return None if sample is None else {name: sample[None]}

    with tempfile.TemporaryDirectory() as folder:
        source, ready, made = (f"{folder}/{step}.onnx" for step in ("source", "ready", "made"))
        onnx.save(newest(model), source)
        quant_pre_process(source, ready, skip_symbolic_shape=True)
        quantize_static(ready, made, Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                        per_channel=True, calibrate_method=CalibrationMethod[method])
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"])
        return np.concatenate([session.run(None, {name: v[None]})[0] for v in x])


def silently(function, *given):
    """the quantizer says what it does"""
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
        return function(*given)


def line(what, y, labels, original):
    noise = np.sqrt(np.mean(np.square(y.astype(np.float64) - original)) / np.mean(np.square(original.astype(np.float64))))
    right = int((y.argmax(1) == labels).sum())
    print(f"  {what:44s} {right:6d} of {len(labels)}  {100 * right / len(labels):6.2f} %   {-20 * np.log10(max(noise, 1e-9)):6.1f} dB", flush=True)
    return right


def given(options, file, layers=True):
    """SAMPLES: those that the file of ranges is of; layers: and in bytes by these"""
    return [f"--quantize={file}"] * layers + [o.replace("SAMPLES", str(file.parent / "samples.npz")) for o in options]


def task(name):
    data = TASKS[name]()
    if data is None:
        print(f"{name}: no data")
        return
    model, samples, x, labels = data
    original = outputs(model, x)
    print(name)
    line("f32", original, labels, original)
    with tempfile.TemporaryDirectory() as folder:
        file = quantizing.calibrate(model, folder, {inputs(model)[0].name: samples[:, None]})
        for options in VARIANTS:
            line(" ".join(["dnncc", *options]), outputs(model, x, given(options, file)), labels, original)
    for method in METHODS:
        try:
            line(f"onnxruntime {method}", silently(by_onnxruntime, model, samples, x, method), labels, original)
        except ValueError as error:     # its histograms do not take every model
            print(f"  onnxruntime {method}: {error}")


# ---- models without a task: the distance from f32 ----

def distance(a, b):
    return float(np.sqrt(np.mean(np.square(a.astype(np.float64) - b))))


def decibels(y, original):
    return 20 * np.log10(distance(original, 0) / max(distance(y, original), 1e-30))


def of_zoo(name, part=""):
    """signal to noise of all outputs, on an input that did not calibrate"""
    import zoo
    from zoo import quantized
    model, fed = zoo.build(name), zoo.inputs(name, 1)
    original = quantized.run(str(model), fed)
    seen = [zoo.inputs(name, seed) for seed in quantized.CALIBRATION]
    print(name)
    with tempfile.TemporaryDirectory() as folder:
        file = quantizing.calibrate(model, folder, {k: np.stack([s[k] for s in seen]) for k in seen[0]})
        for options in (o for o in FLOATS + ZOO + FEW if part in " ".join(o)):
            made = pathlib.Path(folder) / "made"
            made.mkdir(exist_ok=True)
            dnncc.compile_model(model, made, [f"--target={TARGET}", "--weights=file", *given(options, file, options not in FLOATS + FEW)], timeout=1200)
            program = dnncc.build_host(made, ["-O1", "-march=native"])
            ports = [p for p in dnncc.describe(program) if p[0]]
            results = dnncc.run_host(program, [fed[p[1]] for p in ports])
            print(f"  {' '.join(['dnncc', *options]):44s}", *(f"{decibels(y, o):6.1f} dB" for y, o in zip(results, original)), flush=True)
    for q in (q for q in quantized.MODELS.values() if q.of == name and not part):
        results = quantized.run(str(quantized.build(q.name)), fed)
        print(f"  {q.name:44s}", *(f"{decibels(y, o):6.1f} dB" for y, o in zip(results, original)), flush=True)


def main():
    logging.disable(logging.WARNING)
    for name in sys.argv[1:] or TASKS:
        task(name) if name in TASKS else of_zoo(*name.split(":", 1))


if __name__ == "__main__":
    main()
