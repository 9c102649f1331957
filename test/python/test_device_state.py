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


# ---- a language model whose heads share keys ----

@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """two layers, 6 query heads and 2 of keys: its file, and onnxruntime"""
    sys.path.insert(0, str(dnncc.ROOT / "test" / "bench"))
    import llama_model
    path = tmp_path_factory.mktemp("llama") / "llama.onnx"
    llama_model.Llama(2, width=96, heads=6, groups=2, size=16, hidden=160, tokens=64, positions=64, accuracy=1).save(path)
    return path, onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def handed_back(session, runs):
    """logits of runs that are handed their whole past"""
    ports = [i for i in session.get_inputs() if i.name.startswith("past")]
    past = {i.name: np.zeros([e if isinstance(e, int) else 0 for e in i.shape], np.float32) for i in ports}
    names = [o.name for o in session.get_outputs()]
    for given in runs:
        found = dict(zip(names, session.run(None, {**given, **past})))
        past = {name: found[name.replace("past_key_values", "present")] for name in past}
        yield found["logits"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("target, precision", [("cuda-sm_80", ""), ("cuda-sm_90", "f16")])
def test_heads_that_share_keys(llama, target, precision, tmp_path):
    """a prompt and steps, of rows and keys that the run gives: attention is one launch"""
    path, session = llama
    options = ["--dim=P=0..40", "--dim=T=P+N", "--entry=prompt:N=1..12", "--entry=step:N=1", "--state=past_key_values.*=present.*",
               *([f"--precision={precision}"] if precision else [])]
    made = cuda.compile_model(path, tmp_path, options, target=target)
    assert made.read_text().count("_of_sums(") >= 2
    rng, before, runs, named = np.random.default_rng(0), 0, [], []
    for count in 12, 1, 1, 5, 1:
        runs.append({"input_ids": rng.integers(0, 64, (1, count)), "attention_mask": np.ones((1, before + count), np.int64)})
        named.append((f"model_{'step' if count == 1 else 'prompt'}", list(runs[-1].values()), {"P": before}))
        before += count
    got = cuda.run_steps(cuda.build([made], tmp_path), named, tmp_path)
    assert not isinstance(got, cuda.Found), got
    for (logits,), right in zip(got, handed_back(session, runs), strict=True):
        np.testing.assert_allclose(logits, right, *((1e-4, 1e-4) if not precision else (2e-2, 2e-2)))
    assert cuda.counts["model_prompt"]["mma"]


LAUNCHES = {"N=1": 6, "N=1..12": 10}    # of a layer
PHASE = re.compile(r"^  for .*gpu_(?:block|cluster)", re.MULTILINE)


def launches(text):
    """of main of Loop IR in grid form"""
    phases = {name: len(PHASE.findall(body)) for name, body in re.findall(r"^kernel @(\w+)\(.*\n((?:.*\n)*?)^\}", text, re.MULTILINE)}
    return sum(phases[name] for name in re.findall(r"^\s*call @(\w+)\(", text[text.index("\nmain"):], re.MULTILINE))


@pytest.mark.parametrize("rows", LAUNCHES)
def test_launches_of_a_layer(rows, tmp_path):
    """keys and values are turned and appended by one launch, attention, which turns the queries, is another"""
    sys.path.insert(0, str(dnncc.ROOT / "test" / "bench"))
    import llama_model
    counts = []
    for layers in 1, 2:
        llama_model.Llama(layers, width=96, heads=6, groups=2, size=16, hidden=160, tokens=64, positions=64, accuracy=1).save(tmp_path / "m.onnx")
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--target=cuda-sm_90", "--precision=f16", f"--dim={rows}", "--dim=P=0..40", "--dim=T=P+N",
                          "--state=past_key_values.*=present.*", "--emit=loops", "-o", "-"])
        assert done.returncode == 0, done.stderr
        counts.append(launches(done.stdout))
    assert counts[1] - counts[0] <= LAUNCHES[rows], counts


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.skipif(not cuda.nvcc(), reason="no nvcc: make cuda")
@pytest.mark.parametrize("target, precision", [("cuda-sm_80", ""), ("cuda-sm_90", "f16")])
def test_nvcc(llama, target, precision, tmp_path):
    """without warnings, and nothing is spilled"""
    options = ["--dim=P=0..40", "--dim=T=P+N", "--entry=prompt:N=1..12", "--entry=step:N=1", "--state=past_key_values.*=present.*",
               *([f"--precision={precision}"] if precision else [])]
    made = cuda.compile_model(llama[0], tmp_path, options, target=target)
    for name, said in cuda.ptxas(made, target.removeprefix("cuda-"), tmp_path / "model.o").items():
        assert said["spilled"] == 0, (name, said)
