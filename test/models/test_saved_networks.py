# SPDX-License-Identifier: MIT
"""Networks as onnxruntime's optimizer saves them, at each of its levels, give the numbers of the network they were made of: the models beside the project, and
twins of the zoo, f32 and quantized; and transformers as onnxruntime's optimizer for these saves them, which needs PyTorch (make torch)."""
import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import dnncc  # noqa: E402
from test_models import MODELS, allowed, bindings  # noqa: E402
from zoo import twins  # noqa: E402

LEVELS = onnxruntime.GraphOptimizationLevel
SAVED = {"basic": LEVELS.ORT_ENABLE_BASIC, "extended": LEVELS.ORT_ENABLE_EXTENDED, "layout": getattr(LEVELS, "ORT_ENABLE_LAYOUT", LEVELS.ORT_ENABLE_ALL),
         "all": LEVELS.ORT_ENABLE_ALL}
REAL = ["cct2_vit", "dscnn_kws_int8", "magika_v3", "micro_kws_fp32", "micro_kws_qdq", "micro_kws_qoperator", "mnist_cnn", "nanodet_m_320", "ncf_recommender",
        "ppocr_det_en", "resnet8_fp32", "resnet8_int8", "silero_vad", "stories260k_prefill", "super_resolution", "yunet_face"]
QUICK = {"dscnn_kws_int8", "micro_kws_fp32", "micro_kws_qdq", "micro_kws_qoperator", "mnist_cnn", "resnet8_fp32", "resnet8_int8", "lstm", "stories260k_prefill"}


def session(path, level, saved=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = level, 4
    if saved:
        options.optimized_model_filepath = str(saved)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def of_folder(name):
    """path, inputs, wanted results and what they may differ by, and options"""
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    data = folder / "test_data_set_0"
    given, want = ([dnncc.load_tensor(data / f"{kind}_{k}.pb") for k in range(len(list(data.glob(f"{kind}_*.pb"))))] for kind in ("input", "output"))
    return folder / "model.onnx", given, want, [allowed(folder, w) for w in want], bindings(folder)


def of_twin(name):
    if "nbits" in name:
        pytest.importorskip("onnx_ir")  # quantizes to blocks
    path, given = twins.build(name), twins.inputs(name, 1)
    want = session(path, LEVELS.ORT_DISABLE_ALL).run(None, given)
    # where a product of a quantized network lies between two steps, either is right
    share = 0.05 if name in twins.QUANTIZED else 1e-3
    return path, list(given.values()), want, [share * np.max(np.abs(w), initial=1e-3) for w in want], []


def without_idle_inputs(path):
    """Models of IR version 3 list weights as inputs, and the optimizer leaves in the list what it took out of the weights: no node reads these."""
    model = onnx.load(path, load_external_data=False)
    read = {name for n in model.graph.node for name in n.input}
    idle = [i for i in model.graph.input if i.name not in read]
    if model.ir_version < 4 and idle:
        for port in idle:
            model.graph.input.remove(port)
        onnx.save(model, path)


def blocks(path):
    """the size of blocks of channels, where a network has some: what this processor's vectors hold"""
    convs = [n for n in onnx.load(path, load_external_data=False).graph.node if n.domain == "com.microsoft.nchwc" and n.op_type == "Conv"]
    return [f"--nchwc={16 if 'avx512f' in pathlib.Path('/proc/cpuinfo').read_text() else 8}"] if convs else []


def compile_and_run(work, given, options):
    dnncc.compile_model(work / "model.onnx", work, [*options, "--weights=file"])
    return dnncc.run_host(dnncc.build_host(work, ["-O1"]), given)


def compare(name, level, work):
    path, given, want, most, options = of_twin(name) if name in twins.MODELS or name in twins.QUANTIZED else of_folder(name)
    for weights in path.parent.glob(f"{path.stem}*weights"):
        shutil.copy(weights, work)
    session(path, SAVED[level], work / "model.onnx")
    without_idle_inputs(work / "model.onnx")
    for k, got in enumerate(compile_and_run(work, given, [*options, *blocks(work / "model.onnx")])):
        assert got.shape == want[k].shape and got.dtype == want[k].dtype, (k, got.dtype, got.shape, want[k].dtype, want[k].shape)
        error = np.abs(got.astype(np.float64) - want[k].astype(np.float64))
        assert np.all(error <= most[k]), f"output {k}: largest difference {error.max()} of {np.max(np.abs(want[k]))}"


@pytest.mark.parametrize("level", SAVED)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.long]) for name in (*REAL, *twins.MODELS, *twins.QUANTIZED)])
@pytest.mark.slow
@pytest.mark.sample(6)
def test_saved(name, level):
    with dnncc.Workspace(f"{name}_{level}") as work:
        compare(name, level, work)


# what onnxruntime's optimizer for transformers makes of a twin, among others
FUSED = {"bert_base": ("bert", 3, 192, {"SkipLayerNormalization", "BiasGelu"}), "gpt_prefill": ("gpt2", 3, 192, {"SkipLayerNormalization", "FastGelu"}),
         "gpt_step": ("gpt2", 3, 192, {"SkipLayerNormalization", "FastGelu"}), "vit": ("vit", 0, 0, {"SkipLayerNormalization", "BiasGelu"})}


@pytest.mark.parametrize("half", [False, True], ids=["f32", "f16"])
@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("name", FUSED)
@pytest.mark.long
def test_transformers_optimizer(name, level, half):
    pytest.importorskip("torch")
    pytest.importorskip("sympy")
    from onnxruntime.transformers import optimizer
    kind, heads, width, fused = FUSED[name]
    path, given, want, _, _ = of_twin(name)
    model = optimizer.optimize_model(str(path), kind, num_heads=heads, hidden_size=width, opt_level=level, use_gpu=False)
    if half:
        model.convert_float_to_float16(keep_io_types=True)
    assert level or fused <= {n.op_type for n in model.model.graph.node}
    with dnncc.Workspace(f"{name}_{level}_{half}") as work:
        model.save_model_to_file(str(work / "model.onnx"))
        for got, w in zip(compile_and_run(work, given, []), want, strict=True):
            assert got.shape == w.shape and np.abs(got - w).max() <= (1e-2 if half else 1e-4) * np.abs(w).max()
