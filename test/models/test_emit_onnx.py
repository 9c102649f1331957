# SPDX-License-Identifier: MIT
"""--emit=onnx: models that dnncc writes are valid, mean to onnxruntime what the original means, and read back to the same operations.
The trained models live beside the project, see test_models.py; node models are a sample of those in the onnx wheel."""
import pathlib
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import quantizing  # noqa: E402
import roundtrip  # noqa: E402
from test_models import MODELS, REQUIRED, bindings  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
NODES = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"

# What comes back in other operations, of the same values: shapes that broadcasting needs not, shapes of rows
OTHER_OPERATIONS = {"magika_v3", "micro_kws_qoperator", "nanodet_m_320", "ppocr_det_en", "stories260k_prefill"}
# Moves that the second reading makes of the first one's
NOT_FIXED = {"stories260k_prefill"}


def inputs_of(folder):
    return [dnncc.load_tensor(folder / f"input_{k}.pb") for k in range(len(list(folder.glob("input_*.pb"))))]


def close(got, want, what, steps=0):
    """integers: at most `steps` apart, in one of a thousand; floats: roundings"""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, what
    if got.dtype.kind in "iub":
        apart = np.abs(got.astype(np.int64) - want.astype(np.int64))
        assert apart.max(initial=0) <= steps and np.count_nonzero(apart) <= max(1, got.size / 1000) * bool(steps), what
        return
    got, want = got.astype(np.float64), want.astype(np.float64)
    tolerance = 1e-3 if want.dtype == np.float16 else 1e-4 * np.max(np.abs(want[np.isfinite(want)]), initial=0) + 1e-5 * np.abs(want)
    fine = (np.abs(got - want) <= tolerance) | (got == want) | (np.isnan(got) & np.isnan(want))
    assert np.all(fine), (what, got[~fine][:5], want[~fine][:5])


def results(path, work, inputs, options=()):
    dnncc.compile_model(path, work, options)
    return dnncc.run_host(dnncc.build_host(work, ["-O1"]), inputs)


def trained(name):
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    return folder


@pytest.mark.parametrize("name", [*REQUIRED, "micro_kws_qoperator", "ppocr_det_en", "stories260k_prefill"])
@pytest.mark.sample(4)
def test_trained_model(name, tmp_path):
    folder = trained(name)
    model, options = folder / "model.onnx", bindings(folder)
    first = roundtrip.emit(model, tmp_path / "first.onnx", *options)
    roundtrip.check(first)
    again = roundtrip.emit(model, tmp_path / "again.onnx", *options)
    assert again.read_bytes() == first.read_bytes()
    second = roundtrip.emit(first, tmp_path / "second.onnx")
    if name in NOT_FIXED:
        first = second
        second = roundtrip.emit(first, tmp_path / "third.onnx")
    assert second.read_bytes() == first.read_bytes()
    if name not in OTHER_OPERATIONS:
        assert roundtrip.meaning(first) == roundtrip.meaning(model, *options)
    inputs = inputs_of(folder / "test_data_set_0")
    # a float behind a quantization may be a step of that away
    steps = 1 if "int8" in name else 0
    wants = roundtrip.run_session(model, inputs)
    for k, got in enumerate(roundtrip.run_session(first, inputs)):
        if name == "micro_kws_qdq":     # averages of opset 19 round ties otherwise in onnxruntime than those before; a softmax follows
            assert np.max(np.abs(got - wants[k])) <= 4.001 / 256, f"output {k}"
        else:
            close(got, wants[k], f"output {k}", steps)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet8_int8", "dscnn_kws_int8", "micro_kws_qdq", "micro_kws_qoperator"])
@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
@pytest.mark.sample(8)
def test_quantized_model_gives_the_same_bytes(name, target, tmp_path):
    """QDQ stays QDQ: what C computes of the written model is what it computes of the original, to the bit"""
    folder = trained(name)
    written = roundtrip.emit(folder / "model.onnx", tmp_path / "m.onnx", *bindings(folder))
    inputs, got = inputs_of(folder / "test_data_set_0"), []
    for k, (path, options) in enumerate([(folder / "model.onnx", bindings(folder)), (written, [])]):
        work = tmp_path / str(k)
        work.mkdir()
        got.append(results(path, work, inputs, [*options, f"--target={target}"]))
    for want, have in zip(*got):
        assert want.tobytes() == have.tobytes()


@pytest.mark.parametrize("name,least", [("resnet8_int8", 40), ("dscnn_kws_int8", 30), ("micro_kws_qdq", 30)])
def test_quantization_comes_back(name, least, tmp_path):
    """as the nodes it was read from, weights as bytes, biases as whole numbers of steps"""
    folder = trained(name)
    written = roundtrip.emit(folder / "model.onnx", tmp_path / "m.onnx", *bindings(folder))
    nodes = roundtrip.kinds(written)
    assert nodes.count("QuantizeLinear") + nodes.count("DequantizeLinear") >= least
    for odd in ("Round", "Cast", "Clip"):
        assert odd not in nodes
    weights = [i for i in onnx.load(str(written)).graph.initializer if len(i.dims) == 4]
    assert weights and all(i.data_type == onnx.TensorProto.INT8 for i in weights)
    assert any(i.data_type == onnx.TensorProto.INT32 for i in onnx.load(str(written)).graph.initializer)


@pytest.mark.parametrize("name", ["resnet8_int8", "dscnn_kws_int8"])
def test_other_runtime_computes_in_bytes(name, tmp_path):
    """onnxruntime makes as many kernels of bytes of the written model as of the original"""
    folder = trained(name)
    written = roundtrip.emit(folder / "model.onnx", tmp_path / "m.onnx", *bindings(folder))
    kernels = [roundtrip.optimized(path, tmp_path / "optimized.onnx") for path in (folder / "model.onnx", written)]
    assert kernels[1].count("QLinearConv") == kernels[0].count("QLinearConv") > 0
    assert kernels[1].count("QGemm") == kernels[0].count("QGemm") == 1


def quantized_here(model, options, samples, inputs, tmp_path):
    """A model that dnncc quantizes, as an ONNX file: dnncc computes the same bytes of both, onnxruntime nearly so."""
    ranges = quantizing.calibrate(model, tmp_path, samples, options)
    for k, more in enumerate(([], ["--activations=s8"])):
        quantize = [f"--quantize={ranges}", *options, *more]
        written = roundtrip.emit(model, tmp_path / f"q{k}.onnx", *quantize)
        roundtrip.check(written)
        assert roundtrip.emit(written, tmp_path / "again.onnx").read_bytes() == written.read_bytes()
        nodes = roundtrip.kinds(written)
        assert nodes.count("QuantizeLinear") >= 2 and not {"Round", "Cast", "Clip", "Mul"} & set(nodes)
        got = []
        for j, (path, asked) in enumerate([(model, quantize), (written, [])]):
            work = tmp_path / f"{k}-{j}"
            work.mkdir()
            got.append(results(path, work, inputs, [*asked, "--target=x86-64-v3"]))
        assert [a.tobytes() for a in got[0]] == [a.tobytes() for a in got[1]]
        for have, want in zip(roundtrip.run_session(written, inputs), got[0]):
            close(np.asarray(have), want, "onnxruntime")


def test_quantized_digits(tmp_path):
    port = onnx.load(str(DIGITS)).graph.input[0]
    shape = [d.dim_value for d in port.type.tensor_type.shape.dim]
    x = np.random.default_rng(2).random((12, *shape[1:]), np.float32)
    quantized_here(DIGITS, [], {port.name: x}, [x[:1]], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet8_fp32", "mnist_cnn"])
@pytest.mark.sample(4)
def test_quantized_here(name, tmp_path):
    folder = trained(name)
    port = onnx.load(str(folder / "model.onnx")).graph.input[0].name
    x = [dnncc.load_tensor(d / "input_0.pb") for d in sorted(folder.glob("test_data_set_*"))]
    quantized_here(folder / "model.onnx", bindings(folder), {port: np.concatenate(x)}, [x[0]], tmp_path)


def test_digits(tmp_path):
    first = roundtrip.emit(DIGITS, tmp_path / "first.onnx")
    roundtrip.check(first)
    assert roundtrip.emit(first, tmp_path / "second.onnx").read_bytes() == first.read_bytes()
    r = np.random.default_rng(1)
    got = []
    for k, path in enumerate((DIGITS, first)):
        work = tmp_path / str(k)
        work.mkdir()
        inputs = [r.standard_normal([d.dim_value for d in p.type.tensor_type.shape.dim]).astype(np.float32)
                  for p in onnx.load(str(DIGITS)).graph.input] if not k else inputs
        got.append(results(path, work, inputs))
    assert [a.tobytes() for a in got[0]] == [a.tobytes() for a in got[1]]


# ---- node models ----

def sample():
    """one of ten, and all of what is written in forms of its own"""
    names = sorted(p.name for p in NODES.iterdir() if (p / "model.onnx").exists())
    whole = ("pool", "conv", "quantize", "scan", "loop", "if", "cumsum", "clip", "slice", "scatter", "bitshift", "mod", "topk",
             "cast_FLOAT_to_INT4", "gemm", "matmul")
    return [n for i, n in enumerate(names) if i % 10 == 0 or any(n.startswith(f"test_{w}") for w in whole)]


# Operands that are only known at run time are brought into another form each time
GROWS = ("test_convtranspose", "test_constant_pad", "test_edge_pad", "test_reflect_pad", "test_wrap_pad")
# onnxruntime computes other things of the original than the standard says
OTHER_RUNTIME = ("test_maxunpool_export_with_output_shape",)


def given(model, data):
    """inputs, and options that bind open shapes; None: no tensors"""
    known = {i.name for i in model.graph.initializer}
    ports = [i for i in model.graph.input if i.name not in known]
    if not all(p.type.HasField("tensor_type") for p in ports):
        return None, []
    inputs = inputs_of(data)
    open_ones = [(p, a) for p, a in zip(ports, inputs) if not all(d.HasField("dim_value") for d in p.type.tensor_type.shape.dim)]
    return inputs, [f"--input={p.name}={'x'.join(map(str, a.shape))}" for p, a in open_ones]


@pytest.mark.parametrize("name", sample())
@pytest.mark.sample(3)
def test_node_model(name, tmp_path):
    model = NODES / name / "model.onnx"
    inputs, options = given(onnx.load(str(model)), NODES / name / "test_data_set_0")
    if inputs is None:
        pytest.skip("an input that is no tensor")
    try:
        first = roundtrip.emit(model, tmp_path / "1.onnx", *options)
    except dnncc.CompileError as error:
        assert error.code == dnncc.UNSUPPORTED, error
        pytest.skip(error.text.strip())
    roundtrip.check(first)
    second = roundtrip.emit(first, tmp_path / "2.onnx")
    if not name.startswith(GROWS):
        assert roundtrip.emit(second, tmp_path / "3.onnx").read_bytes() == second.read_bytes()
    data = NODES / name / "test_data_set_0"
    if dnncc.run([dnncc.DNNCC, model, "--test", data, *options]).returncode == dnncc.OK:
        done = dnncc.run([dnncc.DNNCC, first, "--test", data])
        assert done.returncode == dnncc.OK, done.stderr
    if name in OTHER_RUNTIME:
        return
    try:
        wants = roundtrip.run_session(model, inputs)
    except Exception:                   # classes of its own: it does not have the original
        return
    gots = kernels_for(first, inputs)
    for k, (got, want) in enumerate(zip(gots or [], wants)):
        close(got, want, f"output {k}", "quantize" in name)


def kernels_for(path, inputs):
    """what onnxruntime computes; None where it has no kernel for a node of this type"""
    try:
        return roundtrip.run_session(path, inputs)
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error) or "No corresponding Numpy type" in str(error):
            return None
        raise
