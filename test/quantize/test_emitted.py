# SPDX-License-Identifier: MIT
"""--quantize --emit=onnx: the bytes between layers of the model that is written, by onnxruntime and by dnncc."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "models", "operators", "passes", "bench")]
import dnncc  # noqa: E402
import processor  # noqa: E402
import test_integer_networks  # noqa: E402
from test_quantize import chain  # noqa: E402

STEPS, SHARE = 1, 1 / 1000              # no byte is off by more, nor more of a layer's bytes


def with_bytes(path, folder):
    """the model with all its bytes as outputs; their names"""
    model = onnx.load(path)
    names = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    kinds = {i.name: i.data_type for i in model.graph.initializer}
    zeros = {node.output[0]: node.input[2] for node in model.graph.node if node.op_type == "QuantizeLinear"}
    model.graph.output.extend(onnx.helper.make_tensor_value_info(name, kinds[zeros[name]], None) for name in names)
    onnx.save(model, folder / "bytes.onnx")
    return folder / "bytes.onnx", names


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # A product whose weights alone are quantized computes in float; otherwise onnxruntime makes its other operand 8 bits wide.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@pytest.mark.sample(2)
@processor.needs("x86-64-v4-vnni")      # elsewhere onnxruntime's sums of such products may saturate
@pytest.mark.parametrize("name", ["digits", "mnist", pytest.param("resnet8", marks=pytest.mark.slow)])
def test_layers(name, tmp_path):
    """the same bytes, layer by layer, as onnxruntime's own kernels for bytes make"""
    model, file, images = test_integer_networks.real(name, tmp_path)
    done = dnncc.run([dnncc.DNNCC, model, f"--quantize={file}", "--emit=onnx", "-o", tmp_path / "q.onnx", *test_integer_networks.bound(model)])
    assert done.returncode == 0, done.stderr
    path, names = with_bytes(tmp_path / "q.onnx", tmp_path)
    assert len(names) > 3
    session = session_of(path)
    given = session.get_inputs()[0].name
    dnncc.compile_model(path, tmp_path, ["--target=generic"])
    program = dnncc.build_host(tmp_path, ["-O1"])
    count = len(session.get_outputs()) - len(names)
    theirs, ours = ([run(x)[count:] for x in images[:10]] for run in (lambda x: session.run(None, {given: x}), lambda x: dnncc.run_host(program, [x])))
    for k, layer in enumerate(names):
        off = np.abs(np.stack([t[k] for t in theirs]).astype(int) - np.stack([o[k] for o in ours]).astype(int))
        assert off.max() <= STEPS and (off > 0).mean() <= SHARE, layer


@pytest.mark.parametrize("name", ["digits", "mnist", pytest.param("resnet8", marks=pytest.mark.slow)])
@pytest.mark.sample(4)
def test_same_outputs(name, tmp_path):
    """what is compiled of the written model is what --quantize compiles, to the bit"""
    model, file, images = test_integer_networks.real(name, tmp_path)
    bound = test_integer_networks.bound(model)
    assert dnncc.run([dnncc.DNNCC, model, f"--quantize={file}", "--emit=onnx", "-o", tmp_path / "q.onnx", *bound]).returncode == 0
    results = []
    for i, (source, options) in enumerate([(model, [f"--quantize={file}", *bound]), (tmp_path / "q.onnx", [])]):
        folder = tmp_path / str(i)
        folder.mkdir()
        dnncc.compile_model(source, folder, [*options, "--target=generic"])
        program = dnncc.build_host(folder, ["-O1"])
        results.append(np.concatenate([dnncc.run_host(program, [x])[0] for x in images[:10]]))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("how", ["s16-symmetric", "u4", pytest.param("s8-symmetric-powers", marks=pytest.mark.long), pytest.param("u16", marks=pytest.mark.long), pytest.param("s4-symmetric", marks=pytest.mark.long)])
def test_schemes(how, tmp_path):
    """whole numbers of other sizes: a valid model, of which onnxruntime makes what --quantize compiles"""
    m, *_ = chain(tmp_path)
    ours, = m.run(f"--activations={how}")
    done = dnncc.run([dnncc.DNNCC, m.path, f"--quantize={m.file}", f"--activations={how}", "--emit=onnx", "-o", tmp_path / "q.onnx"])
    assert done.returncode == 0, done.stderr
    model = onnx.load(tmp_path / "q.onnx")
    onnx.checker.check_model(model, full_check=True)
    constants = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
    scales = [constants[n.input[1]] for n in model.graph.node if n.op_type == "DequantizeLinear"]
    assert len(scales) > 6 and all((np.frexp(s)[0] == .5).all() for s in scales) == how.endswith("powers")
    np.testing.assert_allclose(session_of(tmp_path / "q.onnx").run(None, {"x": m.x})[0], ours, atol=1e-6)
    m.path = tmp_path / "q.onnx"
    np.testing.assert_array_equal(m.run(quantize=False)[0], ours)


@pytest.mark.parametrize("how", ["s4", pytest.param("s4:layer", marks=pytest.mark.long), pytest.param("s8:layer", marks=pytest.mark.long)])
def test_weights_of_layers(how, tmp_path):
    """of 4 bits: INT4 in the file, two in a byte; the same results as --quantize compiles, here and in onnxruntime, and the same file again"""
    m, *_ = chain(tmp_path)
    how, path = f"--quantize-weights={how}", tmp_path / "q.onnx"
    ours, = m.run(how)
    assert dnncc.run([dnncc.DNNCC, m.path, f"--quantize={m.file}", how, "--emit=onnx", "-o", path]).returncode == 0
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    weights = [i for i in model.graph.initializer if len(i.dims) > 1 and i.data_type in (onnx.TensorProto.INT8, onnx.TensorProto.INT4)]
    assert len(weights) == 3 and all((i.data_type == onnx.TensorProto.INT4) == ("s4" in how) for i in weights)
    assert "s4" not in how or all(len(i.raw_data) == np.prod(i.dims) // 2 for i in weights)
    scales = [i for i in model.graph.initializer if i.data_type == onnx.TensorProto.FLOAT]
    assert any(i.dims for i in scales) != ("layer" in how)
    np.testing.assert_allclose(session_of(path).run(None, {"x": m.x})[0], ours, atol=1e-6)
    m.path = path
    np.testing.assert_array_equal(m.run(quantize=False)[0], ours)
    assert dnncc.run([dnncc.DNNCC, path, "--emit=onnx", "-o", tmp_path / "again.onnx"]).returncode == 0
    assert path.read_bytes() == (tmp_path / "again.onnx").read_bytes()
