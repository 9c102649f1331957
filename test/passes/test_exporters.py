# SPDX-License-Identifier: MIT
"""What exporters make of an operator ends in the kernels of the operator as one node, and what is almost that does not: twins with
another number, another axis, or an intermediate that is wanted too compute what onnxruntime computes."""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
from test_patterns import expressions  # noqa: E402

X = "float[2,6,32] x"
VECTORS = X + ", float[32] w, float[32] b"
IMAGE = "float[2,12,4,6] x"

# name: inputs; the operator; what exporters write; twins: (text, in its place), or the name of an intermediate that is an output too
FORMS = {
    "layer norm": (VECTORS, "y = LayerNormalization <axis=-1, epsilon=0.01> (x, w, b)", [
        """ last = Constant <value_ints=[-1]> ()
            two = Constant <value_float=2.0> ()
            epsilon = Constant <value_float=0.01> ()
            mean = ReduceMean (x, last)
            d = Sub (x, mean)
            square = Pow (d, two)
            variance = ReduceMean (square, last)
            shifted = Add (variance, epsilon)
            deviation = Sqrt (shifted)
            normal = Div (d, deviation)
            scaled = Mul (normal, w)
            y = Add (scaled, b)""",
        """ last = Constant <value_ints=[2]> ()
            epsilon = Constant <value_float=0.01> ()
            mean = ReduceMean (x, last)
            d = Sub (x, mean)
            square = Mul (d, d)
            variance = ReduceMean (square, last)
            shifted = Add (epsilon, variance)
            deviation = Sqrt (shifted)
            inverse = Reciprocal (deviation)
            normal = Mul (inverse, d)
            scaled = Mul (w, normal)
            y = Add (b, scaled)""",
        """ last = Constant <value_ints=[-1]> ()
            epsilon = Constant <value_float=0.01> ()
            mean = ReduceMean (x, last)
            square = Mul (x, x)
            squares = ReduceMean (square, last)
            less = Mul (mean, mean)
            variance = Sub (squares, less)
            d = Sub (x, mean)
            shifted = Add (variance, epsilon)
            deviation = Sqrt (shifted)
            normal = Div (d, deviation)
            scaled = Mul (normal, w)
            y = Add (scaled, b)"""],
        [("value_float=0.01", "value_float=0.011"), ("<value_ints=[", "<value_ints=[1, "), "d", "variance", "square", "normal"]),
    "rms norm": (X + ", float[32] w", "y = RMSNormalization <axis=-1, epsilon=0.01> (x, w)", [
        """ last = Constant <value_ints=[-1]> ()
            two = Constant <value_float=2.0> ()
            epsilon = Constant <value_float=0.01> ()
            square = Pow (x, two)
            mean = ReduceMean (square, last)
            shifted = Add (mean, epsilon)
            root = Sqrt (shifted)
            inverse = Reciprocal (root)
            normal = Mul (x, inverse)
            y = Mul (w, normal)""",
        """ last = Constant <value_ints=[-1]> ()
            epsilon = Constant <value_float=0.01> ()
            square = Mul (x, x)
            mean = ReduceMean (square, last)
            shifted = Add (mean, epsilon)
            root = Sqrt (shifted)
            normal = Div (x, root)
            y = Mul (normal, w)"""],
        [("value_float=0.01", "value_float=0.011"), ("[-1]", "[1]"), "square", "root", "normal"]),
    "gelu": (X, "y = Gelu (x)", [
        """ root = Constant <value_float=1.41421354> ()
            one = Constant <value_float=1.0> ()
            half = Constant <value_float=0.5> ()
            scaled = Div (x, root)
            bend = Erf (scaled)
            sum = Add (bend, one)
            product = Mul (x, sum)
            y = Mul (product, half)""",
        """ root = Constant <value_float=0.70710677> ()
            one = Constant <value_float=1.0> ()
            half = Constant <value_float=0.5> ()
            scaled = Mul (x, root)
            bend = Erf (scaled)
            sum = Add (one, bend)
            product = Mul (half, x)
            y = Mul (product, sum)""",
        """ root = Constant <value_float=1.41421354> ()
            one = Constant <value_float=1.0> ()
            half = Constant <value_float=0.5> ()
            scaled = Div (x, root)
            bend = Erf (scaled)
            sum = Add (bend, one)
            product = Mul (half, sum)
            y = Mul (x, product)"""],
        [("value_float=0.5", "value_float=0.501"), ("value_float=1.0", "value_float=1.001"), "scaled", "sum", "product"]),
    "gelu by tanh": (X, 'y = Gelu <approximate="tanh"> (x)', [
        """ three = Constant <value_float=3.0> ()
            small = Constant <value_float=0.044715> ()
            root = Constant <value_float=0.7978846> ()
            one = Constant <value_float=1.0> ()
            half = Constant <value_float=0.5> ()
            cube = Pow (x, three)
            part = Mul (cube, small)
            sum = Add (x, part)
            scaled = Mul (sum, root)
            bend = Tanh (scaled)
            above = Add (bend, one)
            product = Mul (x, half)
            y = Mul (product, above)"""],
        [("0.044715", "0.045715"), ("0.7978846", "0.7988846"), "cube", "product"]),
    "silu": (X, "y = Swish (x)", [
        """ s = Sigmoid (x)
            y = Mul (x, s)""",
        """ one = Constant <value_float=1.0> ()
            minus = Neg (x)
            e = Exp (minus)
            sum = Add (e, one)
            y = Div (x, sum)"""], [("value_float=1.0", "value_float=1.001"), "s", "e", "sum"]),
    "sigmoid": (X, "y = Sigmoid (x)", [
        """ one = Constant <value_float=1.0> ()
            minus = Neg (x)
            e = Exp (minus)
            sum = Add (one, e)
            y = Reciprocal (sum)""",
        """ one = Constant <value_float=1.0> ()
            zero = Constant <value_float=0.0> ()
            minus = Sub (zero, x)
            e = Exp (minus)
            sum = Add (one, e)
            y = Div (one, sum)"""], [("value_float=1.0", "value_float=1.001"), "minus", "e"]),
    "softplus": (X, "y = Softplus (x)", [
        """ one = Constant <value_float=1.0> ()
            e = Exp (x)
            sum = Add (e, one)
            y = Log (sum)"""], [("value_float=1.0", "value_float=1.001"), "e", "sum"]),
    "celu": (X, "y = Celu <alpha=3.0> (x)", [
        """ alpha = Constant <value_float=3.0> ()
            small = Div (x, alpha)
            bent = Elu (small)
            y = Mul (alpha, bent)"""], [("value_float=3.0", "value_float=3.001"), "small", "bent"]),
    "at least and at most": (X, """ low = Constant <value_float=-1.0> ()
            high = Constant <value_float=1.5> ()
            y = Clip (x, low, high)""", [
        """ low = Constant <value_float=-1.0> ()
            high = Constant <value_float=1.5> ()
            least = Min (x, high)
            y = Max (low, least)""",
        """ low = Constant <value_float=-1.0> ()
            high = Constant <value_float=1.5> ()
            below = Less (x, low)
            least = Where (below, low, x)
            above = Greater (least, high)
            y = Where (above, high, least)"""], [("1.5", "1.501"), "least"]),
    "mish": (X, "y = Mish (x)", [
        """ one = Constant <value_float=1.0> ()
            e = Exp (x)
            sum = Add (one, e)
            soft = Log (sum)
            bend = Tanh (soft)
            y = Mul (x, bend)"""], [("value_float=1.0", "value_float=1.001"), "e", "soft"]),
    "hard swish": (X, "y = HardSwish (x)", [
        """ three = Constant <value_float=3.0> ()
            zero = Constant <value_float=0.0> ()
            six = Constant <value_float=6.0> ()
            sum = Add (x, three)
            gate = Clip (sum, zero, six)
            product = Mul (x, gate)
            y = Div (product, six)""",
        """ three = Constant <value_float=3.0> ()
            zero = Constant <value_float=0.0> ()
            six = Constant <value_float=6.0> ()
            sum = Add (x, three)
            gate = Clip (sum, zero, six)
            part = Div (gate, six)
            y = Mul (x, part)""",
        """ gate = HardSigmoid <alpha=0.16666667, beta=0.5> (x)
            y = Mul (gate, x)"""],
        [("value_float=3.0", "value_float=3.001"), ("value_float=6.0", "value_float=6.001"), ("beta=0.5", "beta=0.501"), "gate"]),
    "softmax": (X, "y = Softmax <axis=-1> (x)", [
        """ last = Constant <value_ints=[-1]> ()
            most = ReduceMax (x, last)
            d = Sub (x, most)
            e = Exp (d)
            sum = ReduceSum (e, last)
            y = Div (e, sum)"""], [("[-1]", "[1]"), "e", "sum"]),
    "log sum exp": (X, "last = Constant <value_ints=[-1]> () \n y = ReduceLogSumExp (x, last)", [
        """ last = Constant <value_ints=[-1]> ()
            e = Exp (x)
            sum = ReduceSum (e, last)
            y = Log (sum)"""], [("[-1]", "[1]"), "e", "sum"]),
    "log softmax": (X, "y = LogSoftmax <axis=-1> (x)", [
        """ last = Constant <value_ints=[-1]> ()
            most = ReduceMax (x, last)
            d = Sub (x, most)
            e = Exp (d)
            sum = ReduceSum (e, last)
            log = Log (sum)
            y = Sub (d, log)"""], [("[-1]", "[1]"), "e", "log"]),
    "depth to space": (IMAGE, "y = DepthToSpace <blocksize=2> (x)", [
        """ split = Constant <value_ints=[2, 2, 2, 3, 4, 6]> ()
            joined = Constant <value_ints=[2, 3, 8, 12]> ()
            blocks = Reshape (x, split)
            turned = Transpose <perm=[0, 3, 4, 1, 5, 2]> (blocks)
            y = Reshape (turned, joined)"""], [("[0, 3, 4, 1, 5, 2]", "[0, 3, 4, 2, 5, 1]"), "turned"]),
    "pixel shuffle": (IMAGE, 'y = DepthToSpace <blocksize=2, mode="CRD"> (x)', [
        """ split = Constant <value_ints=[2, 3, 2, 2, 4, 6]> ()
            joined = Constant <value_ints=[2, 3, 8, 12]> ()
            blocks = Reshape (x, split)
            turned = Transpose <perm=[0, 1, 4, 2, 5, 3]> (blocks)
            y = Reshape (turned, joined)"""], [("[0, 1, 4, 2, 5, 3]", "[0, 1, 4, 3, 5, 2]"), "turned"]),
    "channel shuffle": (IMAGE, """ split = Constant <value_ints=[2, 3, 4, 4, 6]> ()
            joined = Constant <value_ints=[2, 12, 4, 6]> ()
            groups = Reshape (x, split)
            turned = Transpose <perm=[0, 2, 1, 3, 4]> (groups)
            y = Reshape (turned, joined)""", [
        """ split = Constant <value_ints=[0, 3, -1, 4, 6]> ()
            joined = Constant <value_ints=[0, -1, 4, 6]> ()
            groups = Reshape (x, split)
            turned = Transpose <perm=[0, 2, 1, 3, 4]> (groups)
            y = Reshape (turned, joined)"""], [("[0, 2, 1, 3, 4]", "[0, 1, 2, 3, 4]"), "turned"]),
}


OPSET = 24


def save(folder, inputs, body, outputs):
    """the graph as a model; the types of its outputs follow"""
    text = f'<ir_version: 10, opset_import: ["": {OPSET}]> g ({inputs}) => ({", ".join(outputs)}) {{ {body} }}'
    path = pathlib.Path(folder) / "model.onnx"
    onnx.save(onnx.shape_inference.infer_shapes(onnx.parser.parse_model(text), strict_mode=True), path)
    return path


def kernels(folder, inputs, body, outputs):
    done = dnncc.run([dnncc.DNNCC, save(folder, inputs, body, outputs), "--emit=json", "-o", "-"])
    assert done.returncode == 0, done.stderr
    return expressions(json.loads(done.stdout))


CASES = [(name, k) for name, form in FORMS.items() for k in range(len(form[2]))]
TWINS = [(name, k, twin) for name, k in CASES for twin in FORMS[name][3] if k in (0, len(FORMS[name][2]) - 1)
         and (twin[0] if isinstance(twin, tuple) else f" {twin} = ") in " " + FORMS[name][2][k]]


@pytest.mark.parametrize("name,form", CASES)
def test_forms_end_in_the_kernels_of_the_operator(name, form, tmp_path):
    inputs, operator, forms, _ = FORMS[name]
    assert kernels(tmp_path, inputs, forms[form], ["y"]) == kernels(tmp_path, inputs, operator, ["y"])


@pytest.mark.parametrize("name,form,twin", TWINS)
@pytest.mark.sample(4)
def test_twins_compute_what_they_say(name, form, twin, tmp_path):
    inputs, operator, forms, _ = FORMS[name]
    if isinstance(twin, tuple):
        body, outputs = forms[form].replace(*twin), ["y"]
        assert body != forms[form] and kernels(tmp_path, inputs, body, outputs) != kernels(tmp_path, inputs, operator, outputs)
    else:
        body, outputs = forms[form], ["y", twin]
    path = save(tmp_path, inputs, body, outputs)
    values = np.random.default_rng(1)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {i.name: (values.standard_normal(i.shape) * 2).astype(np.float32) for i in session.get_inputs()}
    dnncc.compile_model(path, tmp_path, ["--target=x86-64-v3"])
    got = dnncc.run_host(dnncc.build_host(tmp_path, ["-O0"]), list(feeds.values()))
    for ours, theirs in zip(got, session.run(outputs, feeds), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)
