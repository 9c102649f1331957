# SPDX-License-Identifier: MIT
"""BeamSearch and WhisperBeamSearch of com.microsoft over small decoders, alone and with an encoder, by random attributes, against onnxruntime."""
import pathlib
import random
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
from beam_models import pair  # noqa: E402
from cases import HOW, ran  # noqa: E402
from test_opsets import element  # noqa: E402
from test_search import PAD, WORDS, decoder  # noqa: E402

NAMES = ["input_ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty", "repetition_penalty", "vocab_mask", "prefix_vocab_mask",
         "attention_mask", "decoder_input_ids", "logits_processor", "cross_qk_layer_head", "extra_decoding_ids", "temperature"]
RUN = ("input_ids", "attention_mask", "decoder_input_ids")      # operands that are inputs of the model; the others are constants
FRAMES = 6


def one(number, kind=np.int32):
    return np.array([number], kind)


def search(graphs, given, words, op="BeamSearch", results=("sequences", "sequences_scores", "scores"), **attributes):
    used = [n if n in given else "" for n in NAMES]
    while not used[-1]:
        used.pop()
    node = helper.make_node(op, used, list(results), "search", domain="com.microsoft", **graphs, **{"eos_token_id": 0, "pad_token_id": PAD, **attributes})
    batch, beams, returned, length = len(given["input_ids"]), *(int(given[k][0]) for k in ("num_beams", "num_return_sequences", "max_length"))
    prompt = given["input_ids"].shape[1] if attributes.get("model_type", 0) == 0 else given["decoder_input_ids"].shape[1] if "decoder_input_ids" in given else 1
    shapes = {"sequences": [batch, returned, length], "sequences_scores": [batch, returned], "scores": [length - prompt, batch, beams, words], "silence": [batch]}
    ports = [helper.make_tensor_value_info(n, TensorProto.INT32 if n == "sequences" else TensorProto.FLOAT, shapes[n]) for n in results if n]
    g = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, element(given[n]), given[n].shape) for n in RUN if n in given], ports,
                          [numpy_helper.from_array(given[n], n) for n in used if n and n not in RUN])
    model = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    return model, {n: given[n] for n in RUN if n in given}


def drawn(kind, seed):
    """a model and its inputs. kind: of test_drawn."""
    r, n = random.Random(f"{kind} {seed}"), np.random.default_rng([len(kind), seed])
    alone, whisper = kind == "decoder", kind in ("sound", "times", "plain")
    words = 70 if kind == "times" else WORDS
    batch, prompt, beams = r.choice([1, 1, 2, 3]), r.choice([1, 2, 4]) if alone else 1, r.choice([1, 2, 3, 4])
    given = {"input_ids": n.normal(size=(batch, FRAMES, r.choice([1, 4]))).astype(np.float32) if whisper else
             n.integers(1, 11 if r.random() < 0.5 else 10, (batch, prompt if alone else r.choice([1, 2, 5]))).astype(np.int32)}
    more = {"eos_token_id": r.randrange(WORDS), "early_stopping": r.randint(0, 1), "model_type": 0 if alone else 2 if whisper else 1}
    if not alone:
        more["decoder_start_token_id"] = r.randrange(WORDS)
    if whisper and (r.random() < 0.5 or kind == "times"):
        prompt = r.choice([1, 2, 3])
        given["decoder_input_ids"] = n.integers(0, words, (batch, prompt)).astype(np.int32)
    length = prompt + r.randint(2, 7)
    given.update(max_length=one(length), min_length=one(r.choice([0, 0, 1, r.randint(1, length - 1)])), num_beams=one(beams), num_return_sequences=one(r.randint(1, beams)),
                 length_penalty=one(r.choice([1, 1, 0.5, 2, 0, -1]), np.float32))
    if r.random() < 0.3:
        given["repetition_penalty"] = one(r.choice([0.5, 1.5, 3]), np.float32)
    if r.random() < 0.3:
        given["vocab_mask"] = (n.random(words) < 0.8).astype(np.int32)
    if r.random() < 0.3:
        given["prefix_vocab_mask"] = (n.random((batch, words)) < 0.8).astype(np.int32)
    if r.random() < 0.3 and not whisper:
        given["attention_mask"] = np.sort(n.integers(0, 2, given["input_ids"].shape), 1).astype(np.int32)
        given["attention_mask"][:, -1] = 1
    if r.random() < 0.3:
        more["no_repeat_ngram_size"] = r.randint(1, 3)
    if kind in ("sound", "times") and r.random() < 0.4:
        given["temperature"] = one(r.choice([0.5, 2, 3]), np.float32)
    if kind == "times":
        given["logits_processor"] = one(1)
        more.update(beginning_timestamp_token_id=r.choice([8, 12, 40]), no_timestamps_token_id=7, start_of_lm_token_id=6, translate_token_id=4, transcribe_token_id=5)
    if alone:
        return *search({"decoder": decoder(n, r.choice([1, 2]))}, given, words, **more), more
    separate = kind == "apart"
    graphs = pair(seed, words, r.choice([1, 2]), whisper, FRAMES, hidden=r.random() < 0.5 and not separate, whole=r.random() < 0.3, separate=separate)
    return *search(graphs, given, words, "WhisperBeamSearch" if whisper and kind != "plain" else "BeamSearch", **more), more


def by_onnxruntime(model, given):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, given)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind, seed", [pytest.param(kind, seed, marks=[pytest.mark.long] if seed > 2 else []) for kind in ("decoder", "text", "sound", "times", "plain", "apart") for seed in range(40)])
@pytest.mark.slow
@pytest.mark.sample(240, each=False)
def test_drawn(kind, seed, how):
    model, given, more = drawn(kind, seed)
    want = by_onnxruntime(model, given)
    with dnncc.Workspace(f"beams_{kind}_{seed}") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        got = ran(folder / "model.onnx", folder, list(given.values()), how)
    assert got[0].tolist() == want[0].tolist()
    assert np.allclose(got[1], want[1], rtol=1e-4, atol=1e-4)
    # once all samples are done, onnxruntime leaves the rest of the memory as it is: here it is 0
    steps = max([0, *(k + 1 for k in range(len(got[2])) if got[2][k].any())])
    assert np.allclose(got[2][:steps], want[2][:steps], rtol=1e-4, atol=1e-4) and not got[2][steps:].any()


COUNTS = dict(max_length=one(6), min_length=one(0), num_beams=one(3), num_return_sequences=one(2), length_penalty=one(1, np.float32))
IDS = np.array([[3, 4, 5], [6, 7, 8]], np.int32)
SOUND = np.random.default_rng(1).normal(size=(2, FRAMES, 4)).astype(np.float32)


def test_silence(tmp_path):
    """the share of one word in the first step, which onnxruntime leaves 0 on processors: it is what the scores of that step say"""
    model, given = search(pair(3, WORDS, 1, True, FRAMES), {"input_ids": SOUND, **COUNTS}, WORDS, "WhisperBeamSearch", ("sequences", "", "scores", "", "silence"),
                          model_type=2, decoder_start_token_id=2, no_speech_token_id=4)
    onnx.save(model, str(tmp_path / "model.onnx"))
    got = ran(tmp_path / "model.onnx", tmp_path, list(given.values()), "generic")
    assert np.allclose(got[2], np.exp(got[1][0, :, 0, 4]), rtol=1e-5)


def test_padded_vocabulary(tmp_path):
    """words behind vocab_size are none: as if the decoder had that many"""
    whole, cut = {"decoder": decoder(np.random.default_rng(7), 1)}, {"decoder": decoder(np.random.default_rng(7), 1)}
    head, = (k for k in cut["decoder"].initializer if k.name == "head")
    head.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(numpy_helper.to_array(head)[:, :9]), "head"))
    cut["decoder"].output[0].type.tensor_type.shape.dim[2].dim_value = 9
    padded, given = search(whole, {"input_ids": IDS, **COUNTS}, 9, vocab_size=9)
    plain, _ = search(cut, {"input_ids": IDS, **COUNTS}, 9)
    onnx.save(padded, str(tmp_path / "model.onnx"))
    got = ran(tmp_path / "model.onnx", tmp_path, list(given.values()), "generic")
    for x, y in zip(got, by_onnxruntime(plain, given)):
        assert np.allclose(x, y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind, more, attributes, code, text", [
    ("decoder", dict(max_length=one(3)), {}, 3, "max_length"), ("decoder", dict(num_beams=one(0)), {}, 3, "num_beams is 0"), ("decoder", dict(num_beams=one(129)), {}, 3, "num_beams"),
    ("decoder", dict(num_return_sequences=one(4)), {}, 3, "num_return_sequences is 4"), ("decoder", {}, dict(vocab_size=12), 3, "vocab_size"),
    ("decoder", dict(max_length=one(4097)), {}, 3, "max_length is 4097"), ("decoder", {}, dict(model_type=3), 3, "model_type"), ("decoder", {}, dict(model_type=1), 3, "encoder"),
    ("decoder", dict(attention_mask=np.ones((2, 4), np.int32)), {}, 3, "attention_mask"), ("text", {}, {}, 4, "decoder_start_token_id"),
    ("decoder", dict(length_penalty=one(1)), {}, 3, "operand 5"), ("sound", dict(logits_processor=one(1)), dict(decoder_start_token_id=2), 3, "beginning_timestamp_token_id"),
    ("sound", {}, dict(decoder_start_token_id=2, no_speech_token_id=11), 3, "no_speech_token_id"), ("sound", {}, dict(decoder_start_token_id=2, decoder_output_cross_qk=1), 4, "cross_qk"),
    ("sound", dict(decoder_input_ids=np.ones((3, 2), np.int32)), {}, 3, "decoder_input_ids"),
])
def test_refused(kind, more, attributes, code, text, tmp_path):
    sound = kind == "sound"
    graphs = {"decoder": decoder(np.random.default_rng(0), 1)} if kind == "decoder" else pair(1, WORDS, 1, sound, FRAMES)
    given = {"input_ids": SOUND if sound else IDS, **COUNTS, **more}
    attributes = {**({} if kind == "decoder" else dict(model_type=2 if sound else 1)), **attributes}
    model, _ = search(graphs, given, WORDS, "WhisperBeamSearch" if sound else "BeamSearch", **attributes)
    onnx.save(model, str(tmp_path / "m.onnx"))
    with pytest.raises(dnncc.CompileError) as error:
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    assert error.value.code == code and text in str(error.value), error.value


@pytest.mark.parametrize("name", ["max_length", "num_beams", "num_return_sequences"])
def test_of_a_run(name, tmp_path):
    """what only a run knows, and what results' shapes depend on"""
    model, _ = search({"decoder": decoder(np.random.default_rng(0), 1)}, {"input_ids": IDS, **COUNTS}, WORDS)
    kept = [k for k in model.graph.initializer if k.name != name]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT32, [1]))
    onnx.save(model, str(tmp_path / "m.onnx"))
    with pytest.raises(dnncc.CompileError) as error:
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    assert error.value.code == 4 and f"a {name} that only a run knows" in str(error.value), error.value
