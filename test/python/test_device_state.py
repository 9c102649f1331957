# SPDX-License-Identifier: MIT
"""State and several entries as CUDA C, by the executor: a sequence of runs is that of outputs handed back."""
import re
import sys

import dnncc
import numpy as np
import onnx
import onnxruntime
import pytest
import test_state

sys.path.insert(0, str(dnncc.ROOT / "test" / "support"))
import cuda  # noqa: E402

TARGETS = "cuda-sm_80", "cuda-sm_90"


@pytest.mark.parametrize("make", test_state.MODELS, ids=lambda m: m.__name__)
def test_sequences(make, tmp_path):
    """a sequence of runs is that of outputs handed back"""
    m, pairs = make()
    onnx.save(m, tmp_path / "m.onnx")
    made = cuda.compile_model(tmp_path / "m.onnx", tmp_path, test_state.options(pairs))
    runs = test_state.arrays(m, pairs, 5, count=4)
    got = cuda.run_steps(cuda.build([made], tmp_path), [("model", list(r.values()), {}) for r in runs], tmp_path)
    assert not isinstance(got, cuda.Found), got
    for outputs, (want, _) in zip(got, test_state.by_hand(m, pairs, runs)):
        for y, right in zip(outputs, want.values(), strict=True):
            np.testing.assert_allclose(y, right, 2e-3 if right.dtype == np.float16 else 1e-4, 1e-5)


def wanted(runs):
    """onnxruntime's results of test_state.attention, which is handed its whole past"""
    m, _ = test_state.attention()
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    past = {f"past.{x}": np.zeros((1, 2, 0, 4), np.float32) for x in "kv"}
    for given, _ in runs:
        y, k, v = session.run(None, {**given, **past})
        past = {"past.k": k, "past.v": v}
        yield y


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("entries", [[], ["--entry=prefill:N=1..6", "--entry=step:N=1"]], ids=["one", "entries"])
def test_rows_are_appended(entries, target, tmp_path):
    """state that grows, by one run function or by several that share weights and state"""
    m, pairs = test_state.attention()
    onnx.save(m, tmp_path / "m.onnx")
    dims = [f"--dim={k}={v}" for k, v in test_state.DIMS.items() if k != "N" or not entries]
    made = cuda.compile_model(tmp_path / "m.onnx", tmp_path, [*dims, *entries, *test_state.options(pairs)], target=target)
    runs = list(test_state.grown([6, 1, 1, 3, 1, 6, 1]))
    names = [f"model_{'step' if given['x'].shape[1] == 1 else 'prefill'}" if entries else "model" for given, _ in runs]
    got = cuda.run_steps(cuda.build([made], tmp_path), [(name, list(given.values()), {"P": before}) for name, (given, before) in zip(names, runs)], tmp_path)
    assert not isinstance(got, cuda.Found), got
    for (y,), right in zip(got, wanted(runs), strict=True):
        np.testing.assert_allclose(y, right, 1e-4, 1e-5)


def test_a_full_state_takes_no_more(tmp_path):
    m, pairs = test_state.attention()
    onnx.save(m, tmp_path / "m.onnx")
    made = cuda.compile_model(tmp_path / "m.onnx", tmp_path, ["--dim=N=1..6", "--dim=P=0..8", "--dim=T=P+N", *test_state.options(pairs)])
    runs = list(test_state.grown([6, 6, 1]))
    got = cuda.run_steps(cuda.build([made], tmp_path), [("model", list(given.values()), {"P": before}) for given, before in runs], tmp_path)
    full = int(re.search(r"#define MODEL_ERROR_FULL\s+\((-\d+)\)", (tmp_path / "model.h").read_text())[1])
    assert isinstance(got, cuda.Found) and f"run returned {full}" in str(got), got
