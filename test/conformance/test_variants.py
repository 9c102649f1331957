# SPDX-License-Identifier: MIT
"""Variants of the onnx package's node tests (variants.py): each that onnx.checker takes is compiled, or refused in words, and what the
interpreter makes of it is what onnxruntime or the reference evaluator makes of it.

A model that dnncc calls invalid (exit 3) is a fault where one of both computes it; a result that differs from what both make of it is one,
too. FOLLOWED_NOT has the variants in which they are not followed, and why."""
import collections
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import dnncc  # noqa: E402
import oracles  # noqa: E402
import variants  # noqa: E402

# results of these are not compared: numbers of generators
RANDOM = {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
# {operator, title of the variant and what was found, as a regular expression: why its oracles are not followed}
FOLLOWED_NOT = {
    r"(is|holds) -?[\d.]+, want -?\d+ to -?\d+|is .*none of its values": "an attribute is one of its values",
    r"stash_type is|stash_type -?\d|softmax_precision is|softcap is|clip is": "it names a float type; it is above 0",
    r"wants fmod = 1": "the standard's text demands it of floats",
    r"broadcast is 0$|^PRelu .*version 6": "before opset 7 shapes are equal unless the node says that it broadcasts; onnxruntime does not look",
    r"axis -?\d+ is given twice": "an axis counts once",
    r" is 0( of floats)?: invalid|of extent 0|of length 0|length of 0|heads of 0|^DFT .*no axis gives": "nothing is reduced, chosen or transformed",
    r"does not fit the padded extent": "a window that is larger than the image has no place",
    r"^(ConvInteger|QLinearConv) .*kernel_shape": "it is not that of the weights",
    r"^TopK .*want one integer": "k is one number",
    r"^TopK .*sorted=0": "the order is left open",
    r"elements turned of heads of": "elements are turned in pairs",
    r"^ConvTranspose .*output_padding": "onnxruntime takes the odd one of a padding off the end, the text off the start",
    r"^DequantizeLinear .*(T1 of tensor\(float|in blocks of|numbers for axis)": "the reference leaves out zero points, and does not look at their shapes",
    r"^DequantizeLinear .*holds \d+, want 0": "the text wants it so of i32",
    r"^(GRU|LSTM|RNN) .*layout=1": "the reference turns other axes, onnxruntime has no layout 1",
    r"^QuantizeLinear .*(T3 of tensor\(float|numbers for axis)": "the reference leaves out zero points, and does not look at shapes",
    r"^Attention .*padded_kv: is_causal": "causal queries count back from the last key, as onnxruntime and the text's erratum have it",
    r"^NonMaxSuppression .*want one (integer|element)": "it is one number",
    r"^Scan .* is 0: wrong": "of no steps the state is the first one",
    r"^Slice .*2 is \d+": "an axis counts once",
    r"^Resize .*align_corners": "see dnncc_backend.APART",
    r"^Resize .*wants a roi": "which numbers to take is not said",
    r"^Shrink .*uint64": "numbers that f32 does not hold",
    r"^SoftmaxCrossEntropyLoss .*bfloat16": "the reference sums in bf16",
    r"^(Flex)?Attention .*scale=-1": "the reference takes the root of it",
    r"^Attention .*(causal|padded_kv).*U of tensor\(u?int": "the reference writes -infinity into a mask of integers, which have none",
    r"^RotaryEmbedding .*a cache is": "rows of another length than is turned, which onnxruntime reads as if they were shorter",
    r"^WordConvEmbedding .*(filters <|of rank 3, want 2|index is out of range)": "operands that do not fit each other, letters that the table has not: onnxruntime reads beyond them",
    r"^WordConvEmbedding .*wrong": "a word whose first number is no letter: onnxruntime leaves its row as the memory was",
    r"^Q?EmbedLayerNormalization .*input 7": "the text counts what is not 0, onnxruntime what is 1",
    r"^Resize .*exclude_outside": "the reference gives places outside no weight in all modes, where one place has all of it",
    r"^Resize .*T1 of tensor\(u?int": "how integers are rounded is left open",
    r"^TfIdfVectorizer .*(n-grams, |in the pool twice)": "places and weights are as many as n-grams, which differ",
    r"^Attention .* is [01]: wrong": "a mask of one key is broadcast, the reference pads it; a row without keys is 0",
    r"^Attention .*(q|kv)_num_heads": "heads count where operands have rank 3",
    r"^Attention .*-inf, not -3.4028": "hidden keys are -infinity in the text",
    r"^Celu .*alpha is 0": "it divides by it",
    r"^Compress .*(conditions for an extent|of rank \d, want 1)|^Resize .*of rank 2, want 1|^GatherND .*batch dimension": "operands fit each other",
    r"^GroupQueryAttention .*local_window_size=0": "a window of no keys",
    r"^GroupQueryAttention .*(input [56] [-+]1|output_qk, where|k_quant_type is|as the first|heads of)": "lengths that the cache has not; operands that do not fit",
    r"^QMoE .*(swiglu_fusion|activation_alpha)": "onnxruntime reads beyond weights that are no swiglu's; numbers of 16 bits",
    r"^Inverse ": "matrices near to singular ones",
    r"^(LinearAttention|MatMulBnb4|MoEGroupRouter|GatedRMSNorm|GatedDeltaNet) .*(update_rule|the (keys|weights|scales) are|experts in|of rank 2|capacity of 0)":
        "operands that do not fit each other, of which onnxruntime reads a part",
    r"^Dropout .*seed -1": "numpy's generator, which the reference has, takes no such seed",
    r"^TreeEnsemble .*(tree_roots is empty|leads to node)": "no tree, or a node that is not there",
    r"^TreeEnsemble .*post_transform=[1234].*wrong": "onnxruntime takes SOFTMAX for LOGISTIC, the reference leaves it out",
    r"^(GRU|LSTM|RNN) .*(batchwise|layout=1).*clip": "the reference clips nothing, onnxruntime has no layout 1",
    r"^(AveragePool|MaxPool|LpPool) .*same_(upper|lower).*dilations": "onnxruntime makes another shape than the text, the reference other places",
    r"^AveragePool .*28 is 0|^NegativeLogLikelihoodLoss .* is 0": "a mean of nothing is no number",
    r"^OneHot .*T1 of tensor\(uint": "an index out of range is off everywhere; the reference takes it modulo the depth",
    r"^ReduceLogSum(Exp)? .*empty_set: T of tensor\(u?int": "the sum of nothing is -infinity, which integers have not",
    r"^ReduceMax .*(bool_inputs: 2 is 0|empty_set: T of tensor\(bool).*False, not True": "the least bool is false; the reference makes -infinity one, which is true",
    r"^Cast(Like)? ": "a number that the type does not have is left open by the text",
}
RIGHT, MEANINGLESS, UNSUPPORTED, UNCHECKED = "right", "meaningless", "unsupported", "unchecked"
FAULTS = WRONG, INVALID, CRASH = "wrong", "invalid", "crash"

Verdict = collections.namedtuple("Verdict", "kind text")


FEW_BITS = {"int4", "uint4", "int2", "uint2"}


def numbers(array):
    array = np.asarray(array)
    if array.dtype.kind in "OUS":
        return array
    if array.dtype.kind == "c":
        return array
    return array.astype(np.float64) if array.dtype.kind not in "iub" else array


def as_wanted(got, want):
    """bits in bytes, as .npy has narrow types, in the type that is wanted"""
    if got.dtype == want.dtype:
        return got
    if want.dtype.kind in "OUS":
        return np.array([t.decode() if isinstance(t, bytes) else t for t in got.reshape(-1).tolist()], object).reshape(got.shape)
    if want.dtype.isbuiltin == 1 or got.dtype.itemsize != want.dtype.itemsize:
        return got
    return got.astype(want.dtype) if want.dtype.name in FEW_BITS else got.view(want.dtype)


def tolerance(kind):
    return {np.dtype(np.float16): 4e-3, variants.BF16: 2e-2}.get(kind, 1e-3)


def difference(got, want):
    """what differs, in words; None"""
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    for a, b in zip(got, want):
        b = np.asarray(b)
        a = as_wanted(a, b)
        if a.shape != b.shape or a.dtype != b.dtype and b.dtype.kind not in "OUS":
            return f"{a.dtype} {a.shape}, not {b.dtype} {b.shape}"
        x, y = numbers(a), numbers(b)
        if b.dtype.kind in "OUS":
            same = np.array([str(p) == str(q) for p, q in zip(x.reshape(-1), y.reshape(-1))], bool)
        elif b.dtype.kind in "iub":
            slack = 1 if b.dtype.itemsize == 1 and b.dtype.kind != "b" else 0
            same = np.abs(x.astype(object) - y.astype(object)) <= slack if slack else x == y
        else:
            finite = np.isfinite(y)
            most = tolerance(b.dtype) * (np.abs(y) + 0.1 * np.max(np.abs(y[finite]), initial=0)) + 2e-7
            with np.errstate(all="ignore"):
                same = np.where(finite, np.abs(x - y) <= most, (x == y) | ((x != x) & (y != y)))
        if not np.all(same):
            at = int(np.argmin(np.asarray(same).reshape(-1)))
            return f"{int(np.size(same) - np.sum(same))} of {np.size(same)} differ, first at {at}: {x.reshape(-1)[at]}, not {y.reshape(-1)[at]}"
    return None


def ran(model, given, outputs, folder):
    """(exit status, message, results)"""
    for path in folder.glob("*put_*"):
        path.unlink()
    (folder / "model.onnx").write_bytes(model)
    for k, (name, array) in enumerate(given.items()):
        (folder / f"input_{k}.pb").write_bytes(onnx.numpy_helper.from_array(array, name).SerializeToString())
    done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", f"--run={folder}", "-q"], timeout=60)
    results = [np.load(folder / f"output_{k}.npy") for k in range(outputs)] if done.returncode == 0 else []
    return done.returncode, done.stderr, results


def answers_of(base, model, given, asked):
    """what the oracles make of it, lists of arrays of the types that the model has; whether onnxruntime has the operator and refuses"""
    answers = asked.ask(model.SerializeToString(), given)
    refused = answers[0] == oracles.REFUSED
    kinds = variants.result_types(model)
    found = [a for a in answers if isinstance(a, list) and all(r is not None and (not k or k == variants.element(r)) for k, r in zip(kinds, a))]
    wide = variants.widened(base)
    if answers[0] == oracles.ABSENT and wide and found:     # the reference rounds each step of its own, so it is asked in f32 as well
        data = asked.model(wide)
        other = asked.ask(data, variants.given_of(wide))[1] if data else None
        if isinstance(other, list):
            found.append([np.asarray(r).astype(w.dtype) if np.asarray(r).dtype.kind == "f" else r for r, w in zip(other, found[-1])])
    return found, refused


def verdict(base, folder, asked):
    """None where onnx.checker finds fault with the model"""
    data = asked.model(base)
    if data is None:
        return None
    model = onnx.load_model_from_string(data)
    given = variants.given_of(base)
    answers, refused = answers_of(base, model, given, asked)
    if answers:
        model = variants.declared(model, answers[0])
    status, text, results = ran(model.SerializeToString(), given, sum(base.outputs), folder)
    line = text.strip().partition("\n")[0].replace(str(folder), "")[:400]
    if status not in (0, 3, 4) and "the run ended with code" not in text or not line and status:
        return Verdict(CRASH, f"{status}: {line}")
    if status == dnncc.UNSUPPORTED:
        return Verdict(UNSUPPORTED if answers else MEANINGLESS, line)
    if status:
        return Verdict(INVALID if answers and not refused else MEANINGLESS, line)
    if base.op in RANDOM or not answers:
        return Verdict(UNCHECKED, "")
    differences = [difference(results, a) for a in answers]
    return Verdict(RIGHT, "") if None in differences else Verdict(WRONG, " | ".join(differences))


def judged(op, found, folder, pairs, take=lambda number: True):
    """counts of verdicts, and what is not right, in words; take: of which variants, by their number"""
    asked, seen, count, wrong = oracles.Oracles(), set(), collections.Counter(), []
    try:
        for base in found:
            for title, variant in variants.variants(base, pairs):
                key = variants.key_of(variant)
                if key in seen:
                    continue
                seen.add(key)
                said = verdict(variant, folder, asked) if take(len(seen)) else None
                if said is None:
                    continue
                text = f"{op} {base.name}: {title}: {said.kind}: {said.text}"
                if said.kind in FAULTS and any(re.search(pattern, text) for pattern in FOLLOWED_NOT):
                    count[MEANINGLESS] += 1
                    continue
                count[said.kind] += 1
                if said.kind in FAULTS or said.kind == UNSUPPORTED:
                    wrong.append((said.kind, text))
    finally:
        asked.close()
    return count, wrong


def check(op, bases, folder, tier):
    whole = tier == "all"
    count, wrong = judged(op, bases, folder, 2 if whole else 0, lambda number: whole or number % 12 == 1)
    faults = [text for kind, text in wrong if kind in FAULTS]
    assert not faults, "\n".join(faults)
    assert count or not whole, "no variant is a model"


@pytest.mark.parametrize("op", sorted(variants.bases()))
@pytest.mark.sample(114)
def test_variants(op, tmp_path, request):
    """in the tier check one variant of twelve of a sixth of the operators, in the tier all every one, and pairs"""
    check(op, variants.bases()[op], tmp_path, request.config.getoption("--tier"))


@pytest.mark.parametrize("op", variants.CONTRIB_OPS)
@pytest.mark.sample(40)
def test_contrib_variants(op, tmp_path, request):
    """the same of com.microsoft's operators, from the cases of test/operators"""
    check(op, variants.contrib_bases()[op], tmp_path, request.config.getoption("--tier"))
