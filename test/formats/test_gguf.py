# SPDX-License-Identifier: MIT
"""Language models in GGUF files compute what numpy computes of their tensors: a prompt at once, and token by token on a state."""
import pathlib
import re
import struct
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
import python_package  # noqa: E402, F401
import dnncc_package  # noqa: E402

pytest.importorskip("gguf")
import gguf_writer as w  # noqa: E402
from gguf_pairs import MERGES, byte_pairs, pieces  # noqa: E402

ARCHITECTURES = ["llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3"]
FLOATS, BLOCKS = ["F32", "F16", "BF16"], ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
STEPS = 40


def compiled(path, target="native", **more):
    return dnncc_package.compile(path, target=target, cache=False, **more)


def both(model, ids):
    """the last logits of one prompt, and those of each step"""
    sequence = model.sequence()
    prompt = np.ravel(sequence.entry("prefill")(ids[None]))
    sequence = model.sequence()
    step = sequence.entry("step")
    return prompt, np.array([np.ravel(step(ids[None, i:i + 1])) for i in range(len(ids))])


def check(network, path, tolerance, target="native", **more):
    ids = np.random.default_rng(1).integers(0, network.tokens, STEPS)
    want = network.logits(ids)
    prompt, steps = both(compiled(path, target, **more), ids)
    scale = want.std()
    assert np.abs(prompt - want[-1]).max() < tolerance * scale
    assert np.abs(steps - want).max() < tolerance * scale
    return prompt, steps


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kind", ["F32", "Q4_K,F16"])
@pytest.mark.sample(12, each=False)
def test_architectures(architecture, kind, tmp_path):
    """each one's rotary embeddings, norms, biases, windows, activations; entries, bounds and state by themselves"""
    network = w.Model(architecture, kind, layers=7 if architecture == "gemma3" else 2, base=1e6 if architecture == "gemma3" else 10000.0)
    network.save(tmp_path / "m.gguf")
    check(network, tmp_path / "m.gguf", 2e-5, exact=True)


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "x86-64-v4", "native"])
@pytest.mark.parametrize("kind", FLOATS + BLOCKS)
@pytest.mark.sample(44, each=False)
def test_types(kind, target, tmp_path):
    """--exact: weights are what gguf's own dequantize says"""
    if target.startswith("x86"):
        processor.require(target)
    network = w.Model("llama", kind).save(tmp_path / "m.gguf")
    check(network, tmp_path / "m.gguf", 2e-5, target, exact=True)


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "x86-64-v4", "native"])
@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.sample(32, each=False)
def test_rounded(kind, target, tmp_path):
    """without --exact, what is multiplied by blocks is rounded to 8 bits, as llama.cpp does"""
    if target.startswith("x86"):
        processor.require(target)
    network = w.Model("llama", kind).save(tmp_path / "m.gguf")
    prompt, steps = check(network, tmp_path / "m.gguf", 0.15, target)
    assert np.abs(steps - network.logits(np.random.default_rng(1).integers(0, network.tokens, STEPS))).mean() < 0.02 * steps.std()


def test_large_scales(tmp_path):
    """scales that 16 times as much of has no place in 16 bits, as the upper of five bits would have them"""
    network = w.Model("llama", "Q5_0")
    data, kind = network.tensors["output.weight"]
    blocks = data.reshape(-1, 22).copy()                # an f16 and 20 bytes of 32 numbers
    blocks[:, :2] = np.frombuffer(np.float16(5000).tobytes(), np.uint8)
    network.tensors["output.weight"] = blocks.reshape(data.shape), kind
    network.values["output.weight"] = w.dequantize(network.tensors["output.weight"][0], kind).astype(np.float64)
    network.save(tmp_path / "m.gguf")
    prompt, steps = check(network, tmp_path / "m.gguf", 0.15)
    assert np.isfinite(prompt).all() and np.isfinite(steps).all()


@pytest.mark.parametrize("kind,most", [("Q4_0", 1), ("Q8_0", 1), ("Q4_1", 1.1), ("Q5_0", 1.1), ("Q5_1", 1.17), ("Q4_K", 1.03), ("Q5_K", 1.12), ("Q6_K", 1.02)])
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4-vnni"])
@pytest.mark.sample(6)
def test_memory(kind, most, target, tmp_path):
    """weights of products take as much as in the file, but for what formats.md says"""
    model = w.Model("llama", kind, width=512, heads=8, groups=8, tokens=512, context=16)
    model.save(tmp_path / "m.gguf")
    file = sum(array.nbytes for array, own in model.tensors.values() if own)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.gguf", f"--target={target}", "--weights=file", "-o", tmp_path / "m.c"])
    assert done.returncode == 0, done.stderr
    size = (tmp_path / "m.weights").stat().st_size      # without what is small: norms, tables of angles
    assert 0.99 * file < size < (most + 0.005) * file


@pytest.mark.parametrize("more", [{"tied": True}, {"freqs": True}, {"factor": 4.0}, {"biases": True}, {"groups": 1}, {"groups": 4}, {"base": 5e5}])
@pytest.mark.sample(9)
def test_forms(more, tmp_path):
    """one table at both ends, divisors of angles, scaled positions, biases, groups"""
    network = w.Model("llama", "F32", **more).save(tmp_path / "m.gguf", alignment=64)
    check(network, tmp_path / "m.gguf", 2e-5)


def test_llama_cpp(tmp_path):
    """where llama-cpp-python is there: the same logits, but for how each rounds"""
    llama_cpp = pytest.importorskip("llama_cpp")
    network = w.Model("llama", "Q4_0,Q6_K").save(tmp_path / "m.gguf", vocabulary=spm)
    ids = np.random.default_rng(1).integers(0, network.tokens, STEPS)
    peer = llama_cpp.Llama(str(tmp_path / "m.gguf"), logits_all=True, n_ctx=64, verbose=False)
    peer.eval(ids.tolist())
    want = np.array(peer.scores[:STEPS])
    prompt, steps = both(compiled(tmp_path / "m.gguf"), ids)
    assert np.abs(steps - want).max() < 0.15 * want.std()


def test_all_logits(tmp_path):
    network = w.Model("qwen3", "F32").save(tmp_path / "m.gguf")
    ids = np.arange(10) + 3
    model = compiled(tmp_path / "m.gguf", output=["all_logits", "hidden"], dim={"N": "1..16", "P": 0})
    logits, hidden = model(ids[None])
    assert logits.shape == (1, 10, 64) and hidden.shape == (1, 10, 256)
    assert np.abs(logits[0] - network.logits(ids)).max() < 1e-4


# ---- vocabularies ----

def spm(writer):
    writer.add_tokenizer_model("llama")
    tokens = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(32, 93)]
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(len(tokens))])
    writer.add_token_types([2, 3, 3] + [6] * (len(tokens) - 3))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def tokens_of(path, vocabulary, **more):
    """the head of --info=tokens, and (score, kind, text) of each token"""
    w.Model("llama", "F32", layers=1, width=32, heads=2, groups=1, size=16, hidden=32, context=16, **more).save(path, vocabulary=vocabulary)
    done = dnncc.run([dnncc.DNNCC, "--info=tokens", path])
    assert done.returncode == 0 and done.stdout.isascii(), done.stderr
    lines = done.stdout.splitlines()
    rows = [line.split(" ") for line in lines[4:]]
    texts = [re.sub(rb"\\x(..)", lambda m: bytes([int(m[1], 16)]), row[2].encode()) for row in rows]
    return dict(line.split() for line in lines[:4]), [(float(score), kind, text) for (score, kind, _), text in zip(rows, texts)]


def test_byte_pairs(tmp_path):
    """tokens have their bytes, and the order of merges as scores; no pair is joined to a token that no merge makes"""
    head, tokens = tokens_of(tmp_path / "m.gguf", byte_pairs)
    assert head == {"tokens": "298", "begin": "-1", "end": "296", "space": "0"}
    assert tokens[:256] == [(0, "whole", bytes([b])) for b in range(256)]
    assert tokens[256:296] == [(-rank, "normal", a + b) for (a, b), rank in MERGES.items()]
    assert tokens[296:] == [(0, "control", b"<|end|>"), (0, "whole", "<é >".encode())]


def test_pieces(tmp_path):
    """of SentencePiece: U+2581 is a blank, but not in tokens of the user's; bytes, numbers of the tokens at both ends"""
    head, tokens = tokens_of(tmp_path / "m.gguf", pieces)
    assert head == {"tokens": "12", "begin": "1", "end": "2", "space": "1"}
    assert tokens == [(i / 8, kind, text) for i, (kind, text) in enumerate([
        ("control", b"<unk>"), ("control", b"<s>"), ("control", b"</s>"), ("byte", b"\n"), ("control", b"<0xZZ>"), ("normal", b" a"), ("normal", b"b  "), ("normal", b" "),
        ("normal", b"\\"), ("whole", "▁user".encode()), ("control", b"gone"), ("normal", b"")])]

    def other(writer):
        pieces(writer)
        writer.add_add_space_prefix(False)
        writer.add_add_bos_token(False)
    assert tokens_of(tmp_path / "m.gguf", other)[0] == {"tokens": "12", "begin": "-1", "end": "2", "space": "0"}


def odd_ends(writer):
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["a", "b"])
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(2 ** 32 - 1)


def odd_lists(writer):
    """scores and kinds are fewer than tokens, of other kinds, and no numbers"""
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["a", "b", "c"])
    writer.add_token_scores([float("nan"), float("inf")])
    writer.add_array("tokenizer.ggml.token_type", ["x"])


def odd_merges(writer):
    """merges of no two texts, of nothing, to no token, twice; a token twice; characters that are no bytes, or cut"""
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([b"a", b"b", b"ab", b"ab", "\u2581".encode(), b"\xc3", b"a\xff"])
    writer.add_token_merges(["ab", " ", "", "a ", "a b", "a b", "b a", "a b b"])


@pytest.mark.parametrize("vocabulary,want", [
    (odd_ends, [(0, "normal", b"a"), (0, "normal", b"b")]), (odd_lists, [(0, "normal", b"a"), (0, "normal", b"b"), (0, "normal", b"c")]),
    (odd_merges, [(-3, "normal", b"a"), (0, "whole", b"b"), (0, "whole", b"ab"), (-4, "normal", b"ab"), (0, "whole", "\u2581".encode()), (0, "whole", b"\xc3"), (0, "whole", b"a\xff")])])
def test_odd_vocabularies(vocabulary, want, tmp_path):
    head, tokens = tokens_of(tmp_path / "m.gguf", vocabulary)
    assert tokens == want and head["begin"] == head["end"] == "-1"


def bert(writer):
    writer.add_tokenizer_model("bert")
    writer.add_token_list(["a"])


def no_list(writer):
    writer.add_tokenizer_model("llama")
    writer.add_array("tokenizer.ggml.tokens", [1, 2])


@pytest.mark.parametrize("vocabulary", [None, bert, no_list])
def test_no_vocabulary(vocabulary, tmp_path):
    w.Model("llama", "F32", layers=1).save(tmp_path / "m.gguf", vocabulary=vocabulary)
    done = dnncc.run([dnncc.DNNCC, "--info=tokens", tmp_path / "m.gguf"])
    assert done.returncode == 4 and done.stdout == "" and "no vocabulary" in done.stderr, done.stderr


# ---- what is wrong ----

def run(path, *options):
    return dnncc.run([dnncc.DNNCC, path, *options, "-o", "-"])


def test_unsupported(tmp_path):
    network = w.Model("llama", "F32")
    data = np.zeros((64, 84), np.uint8)
    for name in ("token_embd.weight", "output.weight"):
        network.tensors[name] = data, w.Type.Q2_K
    network.save(tmp_path / "m.gguf")
    done = run(tmp_path / "m.gguf")
    assert done.returncode == 4 and "'token_embd.weight' (Q2_K), 'output.weight' (Q2_K)" in done.stderr, done.stderr
    w.Model("falcon", "F32").save(tmp_path / "m.gguf")
    done = run(tmp_path / "m.gguf")
    assert done.returncode == 4 and "'falcon', supported are llama, qwen2" in done.stderr, done.stderr


@pytest.mark.parametrize("options,code,text", [
    (["--dim=N=1..200", "--dim=P=0..100"], 1, "256 positions"), (["--dim=M=3"], 1, "no such dimension"), (["--dim=N=x"], 1, "want N=N"),
    (["--input=input_ids=1x3"], 1, "--dim N"), (["--output=logit"], 1, "did you mean 'logits'"), (["--seed=3"], 1, "no random"), (["--dim=N=0"], 1, "at least one")])
def test_options(options, code, text, tmp_path):
    w.Model("llama", "F32", layers=1).save(tmp_path / "m.gguf")
    done = run(tmp_path / "m.gguf", *options)
    assert done.returncode == code and text in done.stderr, done.stderr


def tensor_lost(network):
    del network.tensors["blk.0.ffn_up.weight"]


def tensor_more(network):
    network.tensors["blk.0.other.weight"] = np.zeros(4, np.float32), None


def tensor_narrow(network):
    network.tensors["blk.0.attn_k.weight"] = np.zeros((64, 256), np.float32), None


@pytest.mark.parametrize("change,code,text", [(tensor_lost, 3, "'ffn_up.weight' is missing"), (tensor_more, 4, "blk.0.other.weight"), (tensor_narrow, 3, "blk.0.attn_k.weight")])
def test_tensors(change, code, text, tmp_path):
    network = w.Model("llama", "F32", layers=1)
    change(network)
    network.save(tmp_path / "m.gguf")
    done = run(tmp_path / "m.gguf")
    assert done.returncode == code and text in done.stderr, done.stderr


def small(tmp_path):
    w.Model("llama", "F32", layers=1, width=32, heads=2, groups=1, size=16, hidden=32, tokens=8, context=16).save(tmp_path / "m.gguf")
    return (tmp_path / "m.gguf").read_bytes()


def text(name):
    return struct.pack("<Q", len(name)) + name


def file(tensors=b"", count=0, keys=b"", key_count=0, version=3, magic=b"GGUF"):
    return magic + struct.pack("<IQQ", version, count, key_count) + keys + tensors


def tensor(name=b"t", extents=(8,), kind=0, offset=0):
    return text(name) + struct.pack("<I", len(extents)) + struct.pack(f"<{len(extents)}Q", *extents) + struct.pack("<IQ", kind, offset)


KEY = text(b"k") + struct.pack("<IB", 0, 1)
HOSTILE = {
    "tensors of 2^63": file(count=2 ** 63), "keys of 2^63": file(key_count=2 ** 63), "tensors of 2^32": file(count=2 ** 32) + bytes(200),
    "long text": file(keys=struct.pack("<Q", 2 ** 62) + b"abc", key_count=1), "text of 2^64 - 1": file(keys=struct.pack("<Q", 2 ** 64 - 1) + b"abc" * 9, key_count=1),
    "key twice": file(keys=KEY * 2, key_count=2), "kind": file(keys=text(b"k") + struct.pack("<II", 99, 1), key_count=1),
    "arrays of arrays": file(keys=text(b"k") + struct.pack("<IIQIQ", 9, 9, 1, 0, 0), key_count=1),
    "long array": file(keys=text(b"k") + struct.pack("<IIQ", 9, 10, 2 ** 61) + bytes(64), key_count=1),
    "long array of texts": file(keys=text(b"k") + struct.pack("<IIQ", 9, 8, 9) + text(b"a") * 2, key_count=1),
    "tensor twice": file(tensor() * 2, 2) + bytes(128), "rank 5": file(tensor(extents=(1,) * 5), 1) + bytes(128), "rank 0": file(tensor(extents=()), 1) + bytes(128),
    "extent 0": file(tensor(extents=(0,)), 1) + bytes(128), "extents beyond 2^63": file(tensor(extents=(2 ** 31 - 1,) * 4), 1) + bytes(128),
    "extent of 2^63": file(tensor(extents=(2 ** 63,)), 1) + bytes(128), "half a block": file(tensor(extents=(16,), kind=2), 1) + bytes(128),
    "outside": file(tensor(offset=1024), 1) + bytes(128), "offset of 2^63": file(tensor(offset=2 ** 63), 1) + bytes(128), "offset of 2^64 - 32": file(tensor(offset=2 ** 64 - 32), 1) + bytes(128),
    "not aligned": file(tensor(offset=4), 1) + bytes(128), "overlapping": file(tensor(b"a", (16,)) + tensor(b"b", (8,), 0, 32), 2) + bytes(256),
    "alignment": file(keys=text(b"general.alignment") + struct.pack("<II", 4, 3), key_count=1), "alignment 0": file(keys=text(b"general.alignment") + struct.pack("<II", 4, 0), key_count=1),
    "no architecture": file(), "an empty name": file(keys=text(b"") + struct.pack("<IB", 0, 1), key_count=1)}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name, tmp_path):
    (tmp_path / "m.gguf").write_bytes(HOSTILE[name])
    done = run(tmp_path / "m.gguf")
    assert done.returncode == 3 and ("at byte" in done.stderr or name == "no architecture"), done.stderr


@pytest.mark.parametrize("content", [b"", b"GUF", b"GGU", b"GGUF", b"GGUF\x03", b"FUGG" + bytes(40)])
def test_short(content, tmp_path):
    """--format=gguf, whatever the content is"""
    (tmp_path / "m").write_bytes(content)
    done = run(tmp_path / "m", "--format=gguf")
    assert done.returncode == 3 and "at byte" in done.stderr, done.stderr


@pytest.mark.parametrize("version,code,word", [(0, 4, "version 0"), (1, 4, "version 1"), (4, 4, "version 4"), (0x03000000, 4, "big-endian"), (0x02000000, 4, "big-endian")])
def test_versions(version, code, word, tmp_path):
    (tmp_path / "m.gguf").write_bytes(file(version=version))
    done = run(tmp_path / "m.gguf")
    assert done.returncode == code and word in done.stderr, done.stderr


def test_version_2(tmp_path):
    content = small(tmp_path)
    (tmp_path / "m.gguf").write_bytes(content[:4] + struct.pack("<I", 2) + content[8:])
    assert run(tmp_path / "m.gguf").returncode == 0


@pytest.mark.slow
def test_truncated(tmp_path):
    """at each byte of the header, and at each 97th of the data"""
    content = small(tmp_path)
    head = content.index(b"blk.0.ffn_down.weight") + 64
    for end in [*range(4, head), *range(head, len(content), 97)]:
        (tmp_path / "m.gguf").write_bytes(content[:end])
        done = run(tmp_path / "m.gguf")
        assert done.returncode == 3 and "at byte" in done.stderr, (end, done.stderr)


def test_metadata(tmp_path):
    """a number that is another one, or of another kind"""
    content = small(tmp_path)
    for key, value, code in [(b"llama.block_count", 0, 3), (b"llama.block_count", 2 ** 32 - 1, 3), (b"llama.embedding_length", 16, 3), (b"llama.attention.head_count", 3, 3),
                             (b"llama.context_length", 0, 3), (b"llama.rope.dimension_count", 15, 3), (b"llama.block_count", 2, 3)]:
        at = content.index(key) + len(key) + 4
        (tmp_path / "m.gguf").write_bytes(content[:at] + struct.pack("<I", value) + content[at + 4:])
        done = run(tmp_path / "m.gguf")
        assert done.returncode == code and "error:" in done.stderr, (key, value, done.stderr)


def test_info(tmp_path):
    w.Model("gemma2", "Q4_0,Q6_K").save(tmp_path / "m.gguf")
    said = dnncc.run([dnncc.DNNCC, "--info", tmp_path / "m.gguf"]).stdout
    assert "gguf 3, gemma2" in said and "Q4_0: " in said and "past.0.key: <1 x 2 x P x 64 x f32>" in said, said


def test_tables_agree():
    """a table that rows are looked up in has the records that a product has as blocks"""
    def rows(path, word):
        return {m[1]: m.groups() for m in re.finditer(rf"^{word}\( *(\d+), (\w+), +(\d+), +(\d+),", (dnncc.ROOT / path).read_text(), re.M)}
    types, records = rows("front/gguf/gguf_types.def", "GGUF_TYPE"), rows("front/compose/compose_records.def", "RECORD")
    both = types.keys() & records.keys()
    assert len(both) >= 17 and {key: types[key] for key in both} == {key: records[key] for key in both}
    blocks = re.findall(r"^GGUF_TYPE\( *(\d+),.*, (?:BLOCKS|FLOATS)\)", (dnncc.ROOT / "front/gguf/gguf_types.def").read_text(), re.M)
    assert set(blocks) <= both
