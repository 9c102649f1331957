"""Each example, built as its page says, against the same done in Python: Pillow, NumPy and onnxruntime. What is not generated runs once
more under ASan and UBSan."""
import json
import re
import struct

import numpy as np
import pytest

import gallery
from gallery import ROOT, build, dnncc, run


def refused(program, code, *arguments):
    """one line on standard error, nothing else"""
    done = dnncc.run([program, *arguments])
    assert done.returncode == code and done.stdout == "" and done.stderr.count("\n") == 1, (done.returncode, done.stdout, done.stderr)
    return done.stderr


# ---- photo ----

CLASSES = ["airplane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def middle(picture, side):
    height, width, _ = picture.shape
    least = min(height, width)
    top, left = (height - least) // 2, (width - least) // 2
    return gallery.resized(np.ascontiguousarray(picture[top:top + least, left:left + least]), side, side)


@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
def test_photo(tmp_path, sanitize):
    program, network = build("photo", "resnet8_fp32", sanitize), gallery.session("resnet8_fp32")
    best = {}
    for name in ["chelsea.png", "rocket.jpg", "coffee.png", "motorcycle_left.png", "astronaut.png"]:
        path, picture = gallery.photograph(name, tmp_path)
        p, = network(middle(picture, 32)[None].astype(np.float32))
        got = re.findall(r"(\w+) ([0-9.]+)", run(program, path).partition(": ")[2])
        want = np.argsort(-p[0])[:3]
        assert got[0][0] == CLASSES[want[0]]
        assert all(abs(float(q) - p[0][CLASSES.index(c)]) < 0.03 for c, q in got), (got, p)
        best[name] = got[0]
    assert best["chelsea.png"][0] == "cat" and float(best["chelsea.png"][1]) > 0.8
    assert best["motorcycle_left.png"][0] == "car"


def test_photo_refuses(tmp_path):
    program = build("photo", "resnet8_fp32", True)
    (tmp_path / "x.jpg").write_text("no picture")
    assert refused(program, 2, tmp_path / "x.jpg") == f"photo: {tmp_path}/x.jpg: it is neither JPEG nor PPM (P6)\n"
    assert refused(program, 2, tmp_path / "y.jpg") == f"photo: {tmp_path}/y.jpg: cannot open it\n"
    refused(program, 1)


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


# ---- filetype ----

# of the model's 214 labels these
TYPES = {17: "c", 46: "elf", 71: "html", 86: "jpeg", 87: "json", 99: "makefile", 100: "markdown", 120: "onnx", 133: "png", 143: "python", 195: "wav", 212: "zip"}


def labels(path):
    names = [TYPES.get(k, f"type{k}") for k in range(214)]
    path.write_text(json.dumps({"beg_size": 1024, "target_labels_space": names, "thresholds": {}}))
    return path


def features(data):
    """as magika takes them: 1024 bytes behind leading blanks, 1024 before trailing ones, both within 4096"""
    begin, end = data[:4096].lstrip()[:1024], data[-4096:].rstrip()[-1024:]
    return np.array([[*begin, *[256] * (1024 - len(begin)), *[256] * (1024 - len(end)), *end]], np.int32)


@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
def test_filetype(tmp_path, sanitize):
    program, network = build("filetype", "magika_v3", sanitize), gallery.session("magika_v3")
    known = {ROOT / "base" / "text.c": "c", ROOT / "test" / "support" / "dnncc.py": "python", ROOT / "compiler" / "report_page.html": "html",
             ROOT / "examples" / "digits" / "digits.onnx": "onnx", dnncc.DNNCC: "elf", ROOT / "Makefile": "makefile", ROOT / "README.md": "markdown",
             gallery.write_wav(tmp_path / "tone", np.sin(np.arange(20000) / 7)): "wav"}
    made = {"blanks": b" \n" * 3000, "spaced": b"\n" * 1500 + b"int main(void) { return 0; }" + b" " * 5000, "short": b"#!/bin/sh\n",
            "bytes": bytes(range(256)) * 20, "eight": b"12345678", "block": b"x" * 4096, "more": b"a,b\n1,2\n" * 513}
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    files = [*known, *(tmp_path / name for name in made)]
    lines = run(program, labels(tmp_path / "config.json"), *files).splitlines()
    for path, line in zip(files, lines, strict=True):
        with open(path, "rb") as file:
            p, = network(features(file.read()))
        name, q = line.removeprefix(f"{path}: ").split()
        best = int(np.argmax(p[0]))
        assert name == TYPES.get(best, f"type{best}") and abs(float(q) - p[0, best]) < 2e-3, line
        assert path not in known or known[path] == name, line


def test_filetype_refuses(tmp_path):
    program = build("filetype", "magika_v3", True)
    (tmp_path / "short").write_bytes(b"1234567")
    assert run(program, labels(tmp_path / "config"), tmp_path / "short") == f"{tmp_path}/short: too short to say\n"
    for text, want in [("{}", "it has no list target_labels_space"), ('{"target_labels_space": ["a", "b"]}', "its list target_labels_space is too short"),
                       ('{"target_labels_space"', "it has no list target_labels_space"), ('{"target_labels_space" ]', "its list target_labels_space is too short"),
                       ('{"target_labels_space": ["a]', "its list target_labels_space is too short")]:
        (tmp_path / "x").write_text(text)
        assert refused(program, 2, tmp_path / "x", tmp_path / "short") == f"filetype: {tmp_path}/x: {want}\n"
    assert refused(program, 2, tmp_path / "config", tmp_path / "absent").endswith("cannot open it\n")
