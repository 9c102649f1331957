# SPDX-License-Identifier: MIT
"""A language model as onnxruntime's model builder writes it: a prompt, then steps, as entries on one state, give what onnxruntime gives of all tokens at once."""
import pathlib
import sys

import dnncc
import dnncc_package
import numpy as np
import onnxruntime
import processor
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import llama_model  # noqa: E402

LAYERS, ROOM, TOKENS = 2, 40, 50


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "x86-64-v4", "native"])
@pytest.mark.parametrize("groups", [1, 2, 4], ids=lambda n: f"{n} groups")
@pytest.mark.parametrize("accuracy", [0, 4])
@pytest.mark.sample(24, each=False)
def test_prompt_and_steps(accuracy, groups, target, tmp_path):
    if target.startswith("x86"):
        processor.require(target)
    path = tmp_path / "m.onnx"
    llama_model.Llama(LAYERS, 64, 4, groups, 16, 96, TOKENS, ROOM, accuracy).save(path)
    model = dnncc_package.compile(path, dim={"P": f"0..{ROOM - 8}", "T": "P+N"}, entry=["prompt:N=1..8", "step:N=1"], state={"past_key_values.*": "present.*"},
                          target=target, cache=False)
    peer = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    ids = np.random.default_rng(3).integers(0, TOKENS, (1, 19))
    empty = np.zeros((1, groups, 0, 16), np.float32)
    caches = {f"past_key_values.{layer}.{part}": empty for layer in range(LAYERS) for part in ("key", "value")}
    want = peer.run(["logits"], {"input_ids": ids, "attention_mask": np.ones_like(ids), **caches})[0]
    sequence, at, got = model.sequence(), 0, []
    for count in 8, 1, 5, *[1] * 5:
        run = sequence.entry("step" if count == 1 else "prompt")
        got.append(np.reshape(run(ids[:, at:at + count], np.ones((1, at + count), np.int64)), (count, TOKENS)))
        at += count
    # rounded to 8 bits, a number that lies between two of them may become either
    far = np.abs(np.concatenate(got) - want[0])
    assert far.max() < (2e-5 if accuracy == 0 else 0.1) and far.mean() < 0.01 * want.std(), (far.max(), far.mean(), want.std())


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "x86-64-v4-vnni"])
def test_weights_once(target, tmp_path):
    """prompt and step read one copy of all weights, in one form"""
    llama_model.Llama(LAYERS, 64, 4, 2, 16, 96, TOKENS, ROOM).save(tmp_path / "m.onnx")
    sizes = []
    for entries in [["--dim=N=1"], ["--entry=prompt:N=1..8", "--entry=step:N=1"]]:
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--dim=P=0..{ROOM - 8}", "--dim=T=P+N", *entries, "--state=past_key_values.*=present.*",
                          f"--target={target}", "--weights=file", "-o", tmp_path / "m.c"])
        assert done.returncode == 0, done.stderr
        sizes.append((tmp_path / "m.weights").stat().st_size)
    assert 0 < sizes[0] == sizes[1]
