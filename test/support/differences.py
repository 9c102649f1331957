# SPDX-License-Identifier: MIT
"""Derivatives against differences: a function of Tensor IR in f64, with the outputs that --gradient adds, is run by the
interpreter; what they say of a step in a random direction must be what a difference of five points says."""
import pathlib
import shutil

import dnncc
import numpy as np

STEP, TOLERANCE = 1e-3, 1e-7


def tensor_type(shape, element="f64"):
    return "<" + "".join(f"{d} x " for d in shape) + element + ">"


def element_of(array):
    return {"f8": "f64", "f4": "f32", "i8": "i64", "i4": "i32", "b1": "bool"}[array.dtype.str[1:]]


class Function:
    """A function whose inputs are arrays, as text. Its loss is the sum of what it yields, times an input of random
    weights `c`, so that each element of the result has a derivative of its own."""

    def __init__(self, inputs, lines, result, shape, seed=0):
        rng = np.random.default_rng(seed)
        self.inputs = {**inputs, "c": rng.uniform(0.5, 1.5, shape)}
        ports = ", ".join(f'%{n} "{n}": {tensor_type(a.shape, element_of(a))}' for n, a in self.inputs.items())
        axes = f"<{len(shape)} x i64> [{', '.join(map(str, range(len(shape))))}]"
        body = "".join(f"  {line}\n" for line in lines)
        self.text = (f'dnn 3\nmodule "gradient"\nfunc @main({ports}) -> ("loss") {{\n{body}'
                     f"  %weighted = mul({result}, %c) : {tensor_type(shape)}\n"
                     f"  %loss = reduce(%weighted, {axes}) : <f64>\n  yield(%loss)\n}}\n")


def run(folder, text, arrays, options=()):
    """the outputs of a run, in order"""
    folder = pathlib.Path(folder)
    (folder / "f.dnn").write_text(text)
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    for k, a in enumerate(arrays):
        np.save(data / f"input_{k}.npy", a)
    done = dnncc.run([dnncc.DNNCC, folder / "f.dnn", f"--run={data}", *options])
    assert done.returncode == 0, (text, done.stderr)
    outputs = sorted(data.glob("output_*.npy"), key=lambda p: int(p.stem[7:]))
    return [np.load(p) for p in outputs]


def derivatives(folder, function, by, options=()):
    """the loss, and its derivatives by the inputs of these names"""
    outputs = run(folder, function.text, function.inputs.values(), [f"--gradient=loss:{','.join(by)}", *options])
    assert len(outputs) == 1 + len(by)
    return outputs[0], dict(zip(by, outputs[1:]))


class Kink(Exception):
    """Differences of two steps say different things, or are no numbers: there is a kink, a jump or a pole near this point."""


def differ(folder, function, way, step):
    """the derivative in a direction {name: array}, by two differences of five points"""
    def at(k):
        moved = [a + k * step * way[n] if n in way else a for n, a in function.inputs.items()]
        return float(run(folder, function.text, moved)[0])
    values = {k: at(k) for k in (-2, -1, -0.5, 0.5, 1, 2)}
    wide, narrow = ((8 * (values[k] - values[-k]) - (values[2 * k] - values[-2 * k])) / (12 * k * step) for k in (1, 0.5))
    return wide, narrow


def check(folder, function, by, tolerance=TOLERANCE, directions=1, step=STEP, options=()):
    """Compares; returns the derivatives."""
    _, found = derivatives(folder, function, by, options)
    rng = np.random.default_rng(len(function.text))
    for name in by:
        assert found[name].shape == function.inputs[name].shape
    for _ in range(directions):
        way = {n: rng.uniform(0.5, 1, function.inputs[n].shape) * rng.choice([-1, 1], function.inputs[n].shape) for n in by}
        wide, narrow = differ(folder, function, way, step)
        said = sum(float(np.sum(found[n] * way[n])) for n in by)
        size = max(1.0, abs(narrow), sum(float(np.sum(np.abs(found[n] * way[n]))) for n in by))
        if not np.isfinite(narrow) or abs(wide - narrow) > tolerance * max(1.0, abs(narrow)):
            raise Kink(function.text)
        # What a select does not take gets 0; 0 times the derivative of what is infinite there is no number, as in PyTorch.
        if not np.isfinite(said) and "select(" in function.text:
            raise Kink(function.text)
        assert np.isfinite(said) and abs(said - narrow) <= tolerance * size, (function.text, said, narrow)
    return found
