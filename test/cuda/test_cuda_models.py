# SPDX-License-Identifier: MIT
"""Whole models as CUDA C by the executor: the models beside the project against their vectors, those of the zoo against dnncc's own
interpreter, and every one in several executions. The small ones run in `make check`."""
import os
import pathlib
import sys

import numpy as np
import onnxruntime
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import test_models  # noqa: E402
import zoo  # noqa: E402
from against import near, reference  # noqa: E402

MODELS = pathlib.Path(os.environ.get("DNNCC_MODELS", dnncc.ROOT.parent / "shared" / "models"))
REFUSED = ["silero_vad"]                # control flow by data that only the device knows
SMALL = ["mnist_cnn", "micro_kws_fp32", "micro_kws_qdq", "dscnn_kws_int8"]
LARGE = ["resnet8_fp32", "resnet8_int8", "micro_kws_qoperator", "ncf_recommender", "cct2_vit", "magika_v3", "yunet_face", "stories260k_prefill",
         "nanodet_m_320", "super_resolution", "ppocr_det_en"]
# processor seconds of the executions, at most (the bars)
ZOO = {"squeezenet": 60, "mobilenet_v2": 60, "resnet50": 30, "resnet18": 60, "bert_base": 60, "gpt_step": 60, "recommender": 60, "lstm": 60}
# four sums of integers in one loop, each of every fourth element, GCC 12 adds up wrongly where it makes vectors of AVX2 of them
OPTIMIZE = ["-O2", "-march=native", "-fno-tree-loop-vectorize"]


def model(name):
    if not (MODELS / name).is_dir():
        pytest.skip("the models folder is absent")
    return MODELS / name


@pytest.mark.parametrize("name", SMALL + [pytest.param(n, marks=pytest.mark.long) for n in LARGE])
def test_vectors(name, tmp_path):
    """as near to the vectors as the C target is"""
    folder = model(name)
    data = sorted(folder.glob("test_data_set_*"))[0]
    arrays = [dnncc.load_tensor(data / f"input_{k}.pb") for k in range(len(list(data.glob("input_*.pb"))))]
    path = cuda.compile_model(folder / "model.onnx", tmp_path, test_models.bindings(folder))
    got = cuda.run(cuda.build([path], tmp_path, flags=OPTIMIZE), {"model": arrays}, tmp_path)["model"]
    assert not isinstance(got, cuda.Found), got
    for k, array in enumerate(got):
        want = dnncc.load_tensor(data / f"output_{k}.pb")
        error = np.abs(array.astype(np.float64) - want.astype(np.float64))
        assert array.shape == want.shape and np.all(error <= test_models.allowed(folder, want)), f"output {k}: {error.max()}"


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, tmp_path):
    folder = model(name)
    with pytest.raises(dnncc.CompileError, match="only the device knows") as refused:
        cuda.compile_model(folder / "model.onnx", tmp_path, test_models.bindings(folder))
    assert refused.value.code == dnncc.UNSUPPORTED and refused.value.text.count("error: ") == 1


@pytest.mark.parametrize("name", ["mnist_cnn", *(pytest.param(n, marks=pytest.mark.long) for n in ("micro_kws_fp32", "micro_kws_qdq", "resnet8_int8", "cct2_vit"))])
def test_exact(name, tmp_path):
    """--exact: the interpreter's bits, in six executions"""
    folder = model(name)
    data = sorted(folder.glob("test_data_set_*"))[0]
    arrays = [dnncc.load_tensor(data / f"input_{k}.pb") for k in range(len(list(data.glob("input_*.pb"))))]
    options = [*test_models.bindings(folder), "--exact"]
    path = cuda.compile_model(folder / "model.onnx", tmp_path, options)
    got = cuda.run(cuda.build([path], tmp_path, flags=OPTIMIZE), {"model": arrays}, tmp_path, cuda.SIX)["model"]
    assert not isinstance(got, cuda.Found), got
    assert near(got, reference(folder / "model.onnx", arrays, options, tmp_path), exact=True) is None


@pytest.mark.long
@pytest.mark.parametrize("name, precision", [("cct2_vit", "f16"), ("cct2_vit", "bf16"), ("stories260k_prefill", "f16")])
def test_tensor_cores(name, precision, tmp_path):
    """a model whose products are tensor cores': as near as on processors that multiply these, no bank conflict, and no race in any access"""
    folder = model(name)
    data = sorted(folder.glob("test_data_set_*"))[0]
    arrays = [dnncc.load_tensor(data / f"input_{k}.pb") for k in range(len(list(data.glob("input_*.pb"))))]
    path = cuda.compile_model(folder / "model.onnx", tmp_path, [*test_models.bindings(folder), f"--precision={precision}"])
    for flags, executions in (OPTIMIZE, cuda.TWO), (cuda.CHECKED, "0"):
        got = cuda.run(cuda.build([path], tmp_path, flags=flags), {"model": arrays}, tmp_path, executions)["model"]
        assert not isinstance(got, cuda.Found), got
        assert cuda.counts["model"]["mma"] and cuda.counts["model"]["conflicts"] == 0
        for k, array in enumerate(got):
            wanted = dnncc.load_tensor(data / f"output_{k}.pb").astype(np.float64)
            error = np.max(np.abs(array - wanted), initial=0)
            assert error <= 0.1 * np.max(np.abs(wanted), initial=0), f"output {k}: {error}"


@pytest.mark.long
@pytest.mark.parametrize("cut_off", [False, True])
def test_f32_of_many_layers(cut_off, tmp_path):
    """ResNet-50 by three products, sums cut off as a GPU cuts them, too (docs/measurements/gpu.md): against a processor's f32"""
    path, given = zoo.build("resnet50"), zoo.inputs("resnet50", 1)
    session = onnxruntime.InferenceSession(str(path))
    wanted, = session.run(None, given)
    source = cuda.compile_model(path, tmp_path, ["--weights=incbin"], target="cuda-sm_80")
    got = cuda.run(cuda.build([source], tmp_path, flags=OPTIMIZE), {"model": [given[i.name] for i in session.get_inputs()]}, tmp_path, "0", timeout=900,
                   env={"EXECUTOR_CUT_OFF": "1"} if cut_off else None)["model"]
    assert not isinstance(got, cuda.Found), got
    assert np.abs(got[0] - wanted).max() < 2e-5 * np.abs(wanted).max()


@pytest.mark.long
@pytest.mark.parametrize("name", ZOO)
def test_zoo(name, tmp_path):
    """within the bar of processor time for one execution"""
    random = np.random.default_rng(1)
    path = zoo.build(name)
    source = cuda.compile_model(path, tmp_path, ["--weights=incbin"])
    program = cuda.build([source], tmp_path, flags=OPTIMIZE)
    arrays = [(random.random(shape) * 2 - 1).astype(dnncc.numpy_type(kind)) if kind == 1 else random.integers(0, 2, shape).astype(dnncc.numpy_type(kind))
              for is_input, _, kind, shape in cuda.ports(program, "model") if is_input]
    got = cuda.run(program, {"model": arrays}, tmp_path, "0", timeout=ZOO[name])["model"]
    assert not isinstance(got, cuda.Found), got
    what = near(got, reference(path, arrays, [], tmp_path, timeout=3600), bound=1e-4)          # units cut sums off, layer by layer: docs/measurements/gpu.md
    assert what is None, what
