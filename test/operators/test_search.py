# SPDX-License-Identifier: MIT
"""GreedySearch and Sampling of com.microsoft over a small decoder, by random attributes and prompts, against onnxruntime: the words, or how often they come."""
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
from cases import HOW, ran  # noqa: E402

WORDS, HEADS, SIZE, PAD = 11, 2, 4, 10
WIDTH = HEADS * SIZE
NAMES = ["input_ids", "max_length", "min_length", "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask", "presence_mask", "seed"]


def decoder(r, layers):
    """a decoder of a few layers of attention, whose caches grow"""
    def weights(name, *shape):
        return numpy_helper.from_array((2 * r.uniform(-1, 1, shape)).astype(np.float32), name)
    ports = [helper.make_tensor_value_info(n, TensorProto.INT32, ["batch", k]) for n, k in (("input_ids", "steps"), ("position_ids", "steps"), ("attention_mask", "keys"))]
    results = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "steps", WORDS])]
    constants = [weights("words", WORDS, WIDTH), weights("places", 40, WIDTH), weights("head", WIDTH, WORDS)]
    nodes = [helper.make_node("Gather", ["words", "input_ids"], ["word"]), helper.make_node("Gather", ["places", "position_ids"], ["place"]),
             helper.make_node("Add", ["word", "place"], ["x0"])]
    for k in range(layers):
        constants += [weights(f"w{k}", WIDTH, 3 * WIDTH), weights(f"b{k}", 3 * WIDTH)]
        nodes += [helper.make_node("Attention", [f"x{k}", f"w{k}", f"b{k}", "attention_mask", f"past_{k}"], [f"a{k}", f"present_{k}"], domain="com.microsoft", num_heads=HEADS,
                                   unidirectional=1), helper.make_node("Add", [f"x{k}", f"a{k}"], [f"x{k + 1}"])]
        ports.append(helper.make_tensor_value_info(f"past_{k}", TensorProto.FLOAT, [2, "batch", HEADS, "past", SIZE]))
        results.append(helper.make_tensor_value_info(f"present_{k}", TensorProto.FLOAT, [2, "batch", HEADS, "keys", SIZE]))
    nodes.append(helper.make_node("MatMul", [f"x{layers}", "head"], ["logits"]))
    return helper.make_graph(nodes, "decoder", ports, results, constants)


def search(graph, ids, length, given, op="GreedySearch", **attributes):
    arrays = {"input_ids": ids, "max_length": np.array([length], np.int32), **given}
    used = [n if n in arrays else "" for n in NAMES]
    while not used[-1]:
        used.pop()
    node = helper.make_node(op, used, ["sequences"], "search", domain="com.microsoft", decoder=graph, **{"eos_token_id": 0, "pad_token_id": PAD, **attributes})
    inputs = [n for n in used if n in ("input_ids", "attention_mask")]
    g = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, TensorProto.INT32, arrays[n].shape) for n in inputs],
                          [helper.make_tensor_value_info("sequences", TensorProto.INT32, [ids.shape[0], length])],
                          [numpy_helper.from_array(arrays[n], n) for n in used if n and n not in inputs])
    model = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    return model, {n: arrays[n] for n in inputs}


def last_step(words, prompt):
    """behind which all sequences are padding"""
    return max([prompt, *(1 + at for row in words for at in range(len(row)) if row[at] != PAD)])


def drawn(seed):
    r, n = random.Random(seed), np.random.default_rng(seed)
    batch, prompt = r.choice([1, 2, 3]), r.choice([1, 2, 4])
    length, ids = prompt + r.randint(1, 7), n.integers(1, 11 if r.random() < 0.4 else 10, (batch, prompt)).astype(np.int32)
    given, more = {}, {"eos_token_id": r.randrange(WORDS)}
    if r.random() < 0.3:
        given["min_length"] = np.array([r.randint(1, length)], np.int32)
    if r.random() < 0.3:
        given["repetition_penalty"] = np.array([r.choice([0.5, 1.5, 3])], np.float32)
    if r.random() < 0.3:
        given["vocab_mask"] = (n.random(WORDS) < 0.7).astype(np.int32)
    if r.random() < 0.3:
        given["prefix_vocab_mask"] = (n.random((batch, WORDS)) < 0.7).astype(np.int32)
    if r.random() < 0.3:
        given["attention_mask"] = np.sort(n.integers(0, 2, (batch, prompt)), 1).astype(np.int32)
        given["attention_mask"][:, -1] = 1
    if r.random() < 0.3:
        more["no_repeat_ngram_size"] = r.randint(1, 3)
    return search(decoder(n, r.choice([1, 2])), ids, length, given, **more)


def by_onnxruntime(model, given):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, given)[0]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.long] if seed > 5 else []) for seed in range(40)])
@pytest.mark.slow
@pytest.mark.sample(3)
def test_greedy(seed, how):
    model, given = drawn(seed)
    want = by_onnxruntime(model, given)
    with dnncc.Workspace(f"search_{seed}") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        got, = ran(folder / "model.onnx", folder, list(given.values()), how)
    # once the last sequence has ended, onnxruntime leaves the rest of the memory as it is: here it is padding
    assert got.dtype == want.dtype and got.shape == want.shape
    last = last_step(got, given["input_ids"].shape[1])
    assert got[:, :last + 1].tolist() == want[:, :last + 1].tolist() and (got[:, last:] == PAD).all()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("more", [dict(top_p=0.5), dict(top_p=0.2, min_tokens_to_keep=4), *(pytest.param(more, marks=pytest.mark.long) for more in (
    dict(top_p=1.0), dict(top_p=0.9), dict(top_p=0.5, filter_value=0.0), dict(top_p=0.8, no_repeat_ngram_size=1), dict(top_p=1.0, vocab_mask=[1] * 5 + [0] * 6)))], ids=str)
@pytest.mark.slow
@pytest.mark.sample(3)
def test_sampled(more, how):
    """of the first words, and of pairs of the first two, as many come as in onnxruntime, but for 6 standard deviations"""
    rows, more = 3000, dict(more)
    ids = np.tile(np.array([[3, 4, 5]], np.int32), (rows, 1))
    given = {"seed": np.array([5], np.int32)}
    if "vocab_mask" in more:
        given["vocab_mask"] = np.array(more.pop("vocab_mask"), np.int32)
    model, inputs = search(decoder(np.random.default_rng(7), 1), ids, 5, given, "Sampling", temperature=8.0, eos_token_id=99, **more)
    with dnncc.Workspace("sampling") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        got, = ran(folder / "model.onnx", folder, list(inputs.values()), how)
    want = by_onnxruntime(model, inputs)
    assert (got[:, :3] == ids).all() and got.min() >= 0 and got.max() < WORDS
    for pairs in (lambda y: y[:, 3], lambda y: y[:, 3] * WORDS + y[:, 4]):
        here, there = (np.bincount(pairs(y), minlength=WORDS * WORDS) for y in (got, want))
        assert (np.abs(here - there) <= 6 * np.sqrt(here + there + 1)).all(), (here, there)
    assert len(np.unique(got[:, 3])) == len(np.unique(want[:, 3]))


def test_seeds(tmp_path):
    """another seed, other words; the same one, the same words"""
    ids, made = np.full((40, 1), 3, np.int32), []
    for at, seed in enumerate((1, 2, 1)):
        folder = tmp_path / str(at)
        folder.mkdir()
        model, inputs = search(decoder(np.random.default_rng(7), 1), ids, 4, {"seed": np.array([seed], np.int32)}, "Sampling", temperature=8.0, top_p=1.0, eos_token_id=99)
        onnx.save(model, str(folder / "model.onnx"))
        made.append(ran(folder / "model.onnx", folder, list(inputs.values()), "interpreted")[0].tolist())
    assert made[0] == made[2] != made[1]


def test_padded_vocabulary(tmp_path):
    """words behind vocab_size are none: as if the decoder had that many"""
    whole, cut = decoder(np.random.default_rng(7), 1), decoder(np.random.default_rng(7), 1)
    head, = (k for k in cut.initializer if k.name == "head")
    head.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(numpy_helper.to_array(head)[:, :6]), "head"))
    cut.output[0].type.tensor_type.shape.dim[2].dim_value = 6
    ids = np.array([[3, 4], [5, 1], [2, 2]], np.int32)
    model, given = search(whole, ids, 8, {}, vocab_size=6, eos_token_id=9)
    onnx.save(model, str(tmp_path / "model.onnx"))
    got, = ran(tmp_path / "model.onnx", tmp_path, list(given.values()), "generic")
    assert got.tolist() == by_onnxruntime(search(cut, ids, 8, {}, eos_token_id=9)[0], given).tolist()


IDS = np.ones((1, 2), np.int32)


@pytest.mark.parametrize("length, given, more, code, text", [
    (2, {}, {}, 3, "max_length"), (1 << 30, {}, {}, 3, "expansion"), (4, {}, dict(model_type=1), 4, "model_type"), (4, {"attention_mask": np.ones((1, 3), np.int32)}, {}, 3, "attention_mask"),
    (4, {"vocab_mask": np.ones(5, np.int32)}, {}, 3, "vocab_mask"), (4, {"prefix_vocab_mask": np.ones((2, 11), np.int32)}, {}, 3, "prefix_vocab_mask"),
    (4, {"repetition_penalty": np.ones(1, np.int32)}, {}, 3, "operand 3"), (4, {}, dict(vocab_size=12), 3, "vocab_size"), (4, {}, dict(temperature=0.0), 3, "temperature"), (4, {}, dict(top_p=1.5), 3, "top_p"),
    (4, {}, dict(custom=1), 4, "custom"),
])
def test_refused(length, given, more, code, text, tmp_path):
    op = "Sampling" if more.keys() & {"temperature", "top_p", "custom"} else "GreedySearch"
    model, _ = search(decoder(np.random.default_rng(0), 1), IDS, length, given, op, **more)
    onnx.save(model, str(tmp_path / "m.onnx"))
    with pytest.raises(dnncc.CompileError) as error:
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    assert error.value.code == code and text in str(error.value), error.value
