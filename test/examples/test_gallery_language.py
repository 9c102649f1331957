# SPDX-License-Identifier: MIT
"""The examples of language models, story and llm, against onnxruntime and numpy, and how their vocabularies are read."""
import importlib
import random
import re
import struct
import subprocess
import sys

import numpy as np
import onnx
import pytest

import gallery
from gallery import ROOT, build, dnncc, refused, run

pytestmark = pytest.mark.slow           # a network is compiled by two compilers first


# ---- story ----

# of the model's vocabulary: how "Once upon a time, there was a little" is written in it
PIECES = {403: " Once", 407: " upon", 261: " a", 378: " time", 432: ",", 383: " there", 286: " was", 376: " little", 13: "<0x0A>"}


def vocabulary(path, pieces=PIECES, tokens=512):
    """in the format of llama2.c; tokens that are not among the pieces are written as their numbers"""
    texts = [pieces.get(k, f"<{k}>").encode() for k in range(tokens)]
    path.write_bytes(struct.pack("<i", max(map(len, texts))) + b"".join(struct.pack("<fi", 0, len(t)) + t for t in texts))
    return path


def likeliest(count):
    network, tokens = gallery.session("stories260k_prefill"), [1]
    while len(tokens) < count:
        logits, = network(np.array([tokens], np.int64))
        tokens.append(int(np.argmax(logits[0, -1])))
        if tokens[-1] in (1, 2):
            return tokens[:-1]
    return tokens


@pytest.mark.sample(2)
@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
def test_story(tmp_path, sanitize):
    """token for token what onnxruntime says is the likeliest"""
    program = build("story", "stories260k_prefill", sanitize)
    text = run(program, vocabulary(tmp_path / "vocabulary"))
    want = "".join("\n" if t == 13 else PIECES.get(t, f"<{t}>") for t in likeliest(128)[1:])
    assert text == want.removeprefix(" ") + "\n"
    assert text.startswith("Once upon a time, there was a little")
    assert run(program, tmp_path / "vocabulary", "5") == "Once upon a time\n"


def test_story_text():
    """with its own vocabulary, where that lies beside the model"""
    path = gallery.model("stories260k_prefill").parent / "tok512.bin"
    if not path.exists():
        pytest.skip("tok512.bin is not in the models folder")
    assert run(build("story", "stories260k_prefill"), path).startswith("Once upon a time, there was a little girl named Lily. She loved to play outside in the park.")


def test_story_refuses(tmp_path):
    program = build("story", "stories260k_prefill", True)
    whole = vocabulary(tmp_path / "vocabulary").read_bytes()
    early = "it ends before its last token"
    lengths = [whole[:9] + b"\xff\xff\xff\x7f" + whole[13:], whole[:9] + b"\xff\xff\xff\xff" + whole[13:]]
    for data in [b"", whole[:3], whole[:8], whole[:100], whole[:-1], *lengths]:
        (tmp_path / "x").write_bytes(data)
        assert refused(program, 2, tmp_path / "x") == f"story: {tmp_path}/x: {early}\n"
    assert refused(program, 2, tmp_path / "absent").endswith("cannot open it\n")
    refused(program, 1, tmp_path / "vocabulary", "129")
    refused(program, 1)


# ---- llm ----

@pytest.fixture(scope="module")
def llm(tmp_path_factory):
    """the example with the model that its script makes, which is valid; sanitized"""
    folder = tmp_path_factory.mktemp("llm")
    script = ROOT / "examples" / "llm" / "cached.py"
    done = dnncc.run([sys.executable, script, gallery.model("stories260k_prefill"), folder / "cached.onnx"])
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(folder / "cached.onnx"), full_check=True)
    build("llm", sanitize=True, options=[f"MODEL={folder / 'cached.onnx'}", f"NET={folder / 'net'}", f"OUT={folder / 'out'}"])
    return folder


def test_llm(llm):
    """token for token what onnxruntime says of the network that looks at everything is the likeliest; at temperatures one of many, by the seed"""
    program, words = llm / "out" / "llm", vocabulary(llm / "vocabulary")
    want = "".join("\n" if t == 13 else PIECES.get(t, f"<{t}>") for t in likeliest(128)[1:])
    assert run(program, words).startswith(want.removeprefix(" "))
    warm = [run(program, words, "", "1.2", str(seed)) for seed in (5, 5, 6)]
    assert warm[0] == warm[1] != warm[2]


def test_llm_text(llm):
    """a prompt, in one piece of 64 tokens or in several, goes on as if it had been told token by token; each token is a character here"""
    signs = vocabulary(llm / "signs", {k: chr(0x4e00 + k) for k in range(512)})
    told = "".join(chr(0x4e00 + k) for k in likeliest(120)[1:])
    for count in (1, 3, 64, 65, 100):
        assert run(llm / "out" / "llm", signs, told[:count]).startswith(told), count


ENCODE = """
#include <stdio.h>
#include <stdlib.h>
#include "vocabulary.h"
int main(int count, char **arguments)
{
        static struct vocabulary v;
        int tokens[TOKENS_MOST], n = count == 4 && !vocabulary_read(&v, arguments[1], atoi(arguments[3])) ? vocabulary_encode(&v, arguments[2], TOKENS_MOST, tokens) : -2;
        for (int i = 0; i < n; i++)
                printf("%d ", tokens[i]);
        free(v.bytes);
        return n < 0 ? -n : 0;
}
"""


def encoder(folder, most):
    """a program that prints the tokens of a text, at most so many"""
    (folder / "encode.c").write_text(ENCODE)
    support = ROOT / "examples" / "support"
    run("gcc", *gallery.SANITIZE.split(), *dnncc.STRICT, f"-DTOKENS_MOST={most}", f"-I{support}", folder / "encode.c", support / "vocabulary.c", support / "file.c", "-o", folder / "encode")
    return folder / "encode"


def test_vocabulary(tmp_path):
    """byte pair encoding: the pair of the highest score first; bytes where a character has no token"""
    program = encoder(tmp_path, 16)
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), " ", "a", "b", "c", "ab", "bc", "abc", " a", "\u00e9"]
    scores = {"ab": 1, "bc": 2, "abc": 3, " a": 0}
    data = [p.encode() for p in pieces]
    (tmp_path / "v").write_bytes(struct.pack("<i", 6) + b"".join(struct.pack("<fi", scores.get(p, -9), len(d)) + d for p, d in zip(pieces, data)))

    def encoded(text):
        return [pieces[int(k)] for k in run(program, tmp_path / "v", text, str(len(pieces))).split()]
    assert encoded("a") == [" a"] and encoded("ab") == [" ", "ab"] and encoded("abc") == [" ", "abc"] and encoded("abbc") == [" ", "ab", "bc"]
    assert encoded("\u00e9c") == [" ", "\u00e9", "c"] and encoded("\u00e8") == [" ", "<0xC3>", "<0xA8>"] and encoded("") == []
    assert dnncc.run([program, tmp_path / "v", "x" * 17, str(len(pieces))]).returncode == 1


def formats():
    """modules of test/formats that write GGUF"""
    pytest.importorskip("gguf")
    sys.path.insert(1, str(ROOT / "test" / "formats"))
    return importlib.import_module("gguf_pairs"), importlib.import_module("gguf_writer")


def save_gguf(path, vocabulary=None, **more):
    """a random network, and its vocabulary beside it, as --info=tokens writes it; the network, and the path of the vocabulary"""
    pairs, writer = formats()
    network = writer.Model("llama", "F32", tokens=len(pairs.PAIRS) + 2, context=512, **more)
    network.save(path, vocabulary=vocabulary or pairs.byte_pairs)
    path.with_suffix(".tokens").write_text(run(dnncc.DNNCC, "--info=tokens", path))
    return network, path.with_suffix(".tokens")


def test_vocabulary_of_gguf(tmp_path):
    """a text's tokens are those that the file's merges make, in their order"""
    pairs, _ = formats()
    network, words = save_gguf(tmp_path / "m.gguf", layers=1, width=32, heads=2, groups=1, size=16, hidden=32)
    program = encoder(tmp_path, 512)
    draw = random.Random(1)
    parts = re.findall(" ?[^ ]+", pairs.TEXT)
    texts = [pairs.TEXT, "theatcats", "\u00e9\u20ac a\u00a0\n", *("".join(draw.choices(parts, k=12)) for _ in range(40))]
    for text in texts:
        assert [int(k) for k in run(program, words, text, str(network.tokens)).split()] == pairs.encoded(text), text


HEAD = "tokens 3\nbegin 1\nend 2\nspace 0\n"
THREE = "0 normal a\n1 control b\n2 whole c\n"


@pytest.mark.sample(2)
@pytest.mark.parametrize("content", [
    "tokens 4" + HEAD[8:] + THREE, "tokens 3\n", HEAD, HEAD + THREE[:-1], HEAD + "0 normal\n" * 3, HEAD.replace("end 2", "end 3") + THREE, HEAD.replace("begin 1", "begin 2147483647") + THREE,
    HEAD.replace("begin", "first") + THREE, HEAD + THREE.replace("\n", "\0")])
def test_vocabulary_refuses(content, tmp_path):
    """texts that --info=tokens does not write"""
    program = encoder(tmp_path, 16)
    (tmp_path / "v").write_text(HEAD + THREE)
    assert run(program, tmp_path / "v", "ac", "3") == "0 2 "
    (tmp_path / "v").write_text(content)
    assert dnncc.run([program, tmp_path / "v", "a", "3"]).returncode == 2


def test_llm_gguf(tmp_path):
    """a file of llama.cpp's from end to end: its network, its vocabulary, a text that goes on as numpy says"""
    pairs, _ = formats()
    network, words = save_gguf(tmp_path / "m.gguf", layers=2, width=64, heads=2, groups=1, size=32, hidden=96)
    build("llm", sanitize=True, options=[f"MODEL={tmp_path / 'm.gguf'}", f"NET={tmp_path / 'net'}", f"OUT={tmp_path / 'out'}"])
    program = tmp_path / "out" / "llm"
    texts = [*pairs.PAIRS, b"", "<\u00e9 >".encode()]
    for text in ("the cat sat", pairs.TEXT + pairs.TEXT):       # of several pieces
        ids = pairs.encoded(text)
        begin = len(ids)
        while len(ids) < begin + 30 and ids[-1] != len(pairs.PAIRS):
            ids.append(int(network.logits(np.array(ids))[-1].argmax()))
        told = subprocess.run([program, words, text], stdout=subprocess.PIPE, timeout=300, check=True).stdout
        assert told.startswith(b"".join(texts[k] for k in ids)), (told, ids)
    assert refused(program, 2, words).endswith("no token that a text begins with, so give it a text\n")


def test_llm_refuses(llm):
    program, words = llm / "out" / "llm", vocabulary(llm / "vocabulary")
    assert refused(program, 2, words, "x" * 600).endswith("the text is too long, or has bytes without a token\n")
    assert refused(program, 2, llm / "absent").endswith("cannot open it\n")
    refused(program, 1)
