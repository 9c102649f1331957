# SPDX-License-Identifier: MIT
"""Each example, built as its page says, against the same done in Python: Pillow, NumPy and onnxruntime. What is not generated runs once
more under ASan and UBSan."""
import importlib.util
import json
import re
import resource

import numpy as np
import onnx
import pytest
from onnx import helper

import gallery
import test_helpers
from quantized import onnxruntime_saturates
from gallery import ROOT, build, dnncc, refused, run

pytestmark = pytest.mark.slow           # a network is compiled by two compilers first


# ---- photo ----

CLASSES = ["airplane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def middle(picture, side):
    height, width, _ = picture.shape
    least = min(height, width)
    top, left = (height - least) // 2, (width - least) // 2
    return gallery.resized(np.ascontiguousarray(picture[top:top + least, left:left + least]), side, side)


@pytest.mark.sample(2)
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
    page = tmp_path / "page"
    page.write_text("<!DOCTYPE html>\n<html><head><title>A page</title></head>\n<body><h1>A page</h1><p>It says <b>little</b>.</p></body></html>\n")
    known = {ROOT / "base" / "text.c": "c", ROOT / "test" / "support" / "dnncc.py": "python", page: "html",
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


# ---- words ----

WORDS = ["down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes", "(silence)", "(another word)"]
VOICE = {"voice": "en-us+f3", "speed": 150, "pitch": 60}


def loudest_second(sound):
    """of those that begin at whole strides, the first with the most energy"""
    energy = np.concatenate([[0], np.cumsum(np.append(sound, np.zeros(gallery.RATE)).astype(float) ** 2)])
    begins = range(0, max(1, len(sound) + 320 - gallery.RATE), 320)
    most, best = 0, 0
    for begin in begins:
        e = energy[begin + gallery.RATE] - energy[begin]
        if e > most * 1.0001 + 1e-9:
            most, best = e, begin
    return np.append(sound, np.zeros(gallery.RATE))[best:best + gallery.RATE]


def word(network, sound):
    second = loudest_second(sound)
    second = second / max(second.max(), 1e-30)
    numbers = [test_helpers.mfcc(second[320 * w:320 * w + 480], gallery.RATE, 512, 40, 10, 20, 4000) for w in range(49)]
    bytes_ = np.clip(np.rint(np.array(numbers) / np.float32(0.5847029)) + 83, -128, 127).astype(np.int8)
    output, = network(bytes_.reshape(1, 49, 10, 1))
    return WORDS[int(np.argmax(output))], (int(output.max()) + 128) / 256


@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
def test_words(tmp_path, sanitize):
    if onnxruntime_saturates():
        pytest.skip("onnxruntime's sums of products of bytes saturate on this processor")
    program, network = build("words", "dscnn_kws_int8", sanitize), gallery.session("dscnn_kws_int8")
    rng, right = np.random.default_rng(1), 0
    sounds = {"silent": np.zeros(20000), "short": rng.normal(0, 0.1, 500), "noise": rng.normal(0, 0.1, 40000)}
    for name in WORDS[:10]:
        one = gallery.spoken(name, tmp_path, **VOICE)
        sounds[name] = one[:gallery.RATE]
        sounds[f"{name} late"] = np.concatenate([rng.normal(0, 1e-3, 12345), one * 0.5, rng.normal(0, 1e-3, 23456)])
    for name, sound in sounds.items():
        path = gallery.write_wav(tmp_path / f"{name}.wav", sound)
        got, sure = run(program, path).removeprefix(f"{path}: ").rsplit(" ", 1)
        want, surely = word(network, gallery.read_wav(path))
        assert got == want and abs(float(sure) - surely) < 0.05, (name, got, want)
        right += got == name
    assert right >= 8, f"{right} of 10"


def test_words_refuses(tmp_path):
    program = build("words", "dscnn_kws_int8", True)
    path = gallery.write_wav(tmp_path / "fast.wav", np.zeros(100), 44100)
    assert refused(program, 2, path) == f"words: {path}: the network is for 16000 samples a second (sox in.wav -r 16000 out.wav)\n"
    (tmp_path / "x").write_text("no sound")
    assert refused(program, 2, tmp_path / "x").endswith("it is no WAV file\n")
    refused(program, 1)


# ---- speech ----

def heard(network, sound):
    """[(second, "speech" or the surest probability of the speech that ends)]"""
    state, before, events, most, quiet = np.zeros((2, 1, 128), np.float32), np.zeros(64, np.float32), [], None, None
    for at in range(0, len(sound), 512):
        block = sound[at:at + 512]
        samples = np.concatenate([before, block, np.zeros(512 - len(block), np.float32)])
        p, state = network(samples[None], state, np.array(gallery.RATE, np.int64))
        p, before = float(p[0, 0]), samples[-64:]
        if most is None:
            if p < 0.5:
                continue
            events.append((at, "speech"))
            most = 0
        most = max(most, p)
        quiet = None if p >= 0.5 else at if p < 0.35 and quiet is None else quiet
        if quiet is not None and at + 512 - quiet > 1600:
            events.append((quiet, most))
            most = quiet = None
    return events + ([((len(sound) + 511) // 512 * 512, most)] if most is not None else [])


def speech_lines(text):
    """the same of what the program prints"""
    events = []
    for line in text.splitlines():
        at, what = re.fullmatch(r"([0-9.]+) s: (\w+)(?: \([0-9.]+\))?", line).groups()
        if what == "speech":
            events.append((float(at), what))
            most = float(line.rpartition("(")[2][:-1])
        else:
            events.append((float(at), most))
    return events


@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
def test_speech(tmp_path, sanitize):
    program, network = build("speech", "silero_vad", sanitize), gallery.session("silero_vad")
    rng = np.random.default_rng(1)
    voice = [gallery.spoken(text, tmp_path) for text in ("front center", "the quick brown fox jumps over the lazy dog")]
    pause = rng.normal(0, 1e-3, 16000)
    sounds = {"silent": np.zeros(16000), "noise": rng.normal(0, 0.03, 32000), "spoken": np.concatenate([pause[:1600], voice[0], pause, voice[1], pause]),
              "cut": voice[1][:20000], "quiet": 0.1 * np.concatenate([pause, voice[0], pause[:5000]]), "empty": np.zeros(0)}
    for name, sound in sounds.items():
        path = gallery.write_wav(tmp_path / f"{name}.wav", sound)
        text = run(program, path)
        got, want = speech_lines(text), heard(network, gallery.read_wav(path))
        assert len(got) == len(want), (name, got, want)
        for (at, what), (begin, wanted) in zip(got, want):
            assert abs(at - begin / gallery.RATE) < 0.006 and (what == wanted or abs(what - wanted) < 0.02), (name, got, want)
        with open(path, "rb") as file:
            assert run(program, "-", stdin=file) == text                # a pipe is the same
        assert bool(got) == (name in ("spoken", "cut", "quiet")), name
        if name == "spoken":
            assert 0.05 < got[0][0] < 0.3 and len(got) >= 4


def test_speech_refuses(tmp_path):
    program = build("speech", "silero_vad", True)
    path = gallery.write_wav(tmp_path / "slow.wav", np.zeros(100), 8000)
    assert refused(program, 2, path) == f"speech: {path}: the network is for 16000 samples a second (sox in.wav -r 16000 out.wav)\n"
    assert refused(program, 2, tmp_path / "absent").endswith("cannot open it\n")
    refused(program, 1)


# ---- faces, objects ----

def fitted(picture, side):
    height, width, _ = picture.shape
    scale = min(side / width, side / height)
    small = gallery.resized(picture, max(1, int(width * scale + 0.5)), max(1, int(height * scale + 0.5)))
    square = np.zeros((side, side, 3), np.uint8)
    square[:small.shape[0], :small.shape[1]] = small
    return square, scale


def cells(stride):
    y, x = np.mgrid[0:320 // stride, 0:320 // stride].reshape(2, -1)
    return x, y


def corners(left, top, right, bottom, score, kind):
    return np.stack([left, top, right, bottom, score, kind], 1)


def faces_of(network, square):
    outputs, found = network(square[:, :, ::-1].transpose(2, 0, 1)[None].astype(np.float32)), []
    for k, stride in enumerate((8, 16, 32)):
        (x, y), (kind, sure, box) = cells(stride), (outputs[k + 3 * i][0] for i in range(3))
        cx, cy, w, h = (x + box[:, 0]) * stride, (y + box[:, 1]) * stride, np.exp(box[:, 2]) * stride, np.exp(box[:, 3]) * stride
        found.append(corners(cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2, np.sqrt(kind * sure)[:, 0], 0 * x))
    return np.concatenate(found)


def objects_of(network, square):
    pixels = (square[:, :, ::-1] - np.float32([103.53, 116.28, 123.675])) / np.float32([57.375, 57.12, 58.395])
    outputs, found = network(pixels.transpose(2, 0, 1)[None].astype(np.float32)), []
    for k, stride in enumerate((8, 16, 32)):
        (x, y), votes = cells(stride), np.exp(outputs[3 + k][0].reshape(-1, 4, 8))
        d = stride * (votes @ np.arange(8)) / votes.sum(2)
        x, y, kinds = x * stride + (stride - 1) / 2, y * stride + (stride - 1) / 2, outputs[k][0]
        found.append(corners(x - d[:, 0], y - d[:, 1], x + d[:, 2], y + d[:, 3], kinds.max(1), kinds.argmax(1)))
    return np.concatenate(found)


DETECTORS = {"faces": ("yunet_face", faces_of, 0.6, 0.3), "objects": ("nanodet_m_320", objects_of, 0.4, 0.5)}
NAMES = re.findall(r'"([^"]+)"', (ROOT / "examples" / "objects" / "names.h").read_text())


def found(text):
    """[(left, top, right, bottom, score, name)]"""
    boxes = []
    for line in text.splitlines():
        name, x, y, w, h, score = re.fullmatch(r"([\w ]+) at (-?\d+), (-?\d+) of (\d+) x (\d+), ([0-9.]+)", line).groups()
        boxes.append((int(x), int(y), int(x) + int(w), int(y) + int(h), float(score), name))
    return boxes


def agree(got, want, least):
    """each box of one list is in the other, but those that are hardly sure enough"""
    for some, others in ((got, want), (want, got)):
        for box in some:
            if box[4] > least + 0.02:
                assert any(o[5] == box[5] and abs(o[4] - box[4]) < 0.02 and all(abs(o[k] - box[k]) <= 1 for k in range(4)) for o in others), (box, others)


@pytest.mark.sample(4, each=False)
@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
@pytest.mark.parametrize("name", DETECTORS)
def test_detector(tmp_path, name, sanitize):
    """Boxes within a pixel of the reference's, in the picture as it is."""
    needs, reference, least, overlap = DETECTORS[name]
    program, network, results = build(name, needs, sanitize), gallery.session(needs), {}
    for sample in ["astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg"]:
        path, picture = gallery.photograph(sample, tmp_path)
        square, scale = fitted(picture, 320)
        sure = [b for b in reference(network, square).tolist() if b[4] >= least]
        kept = test_helpers.suppressed(sure, overlap)
        want = [(*(v / scale for v in b[:4]), b[4], NAMES[int(b[5])] if name == "objects" else "face") for b in kept]
        got = found(run(program, path, tmp_path / "out.jpg"))
        agree(got, want, least)
        drawn, color = gallery.pixels(tmp_path / "out.jpg").astype(int), (0, 255, 0) if name == "faces" else (255, 64, 0)
        assert drawn.shape == picture.shape
        edges = np.sum(np.abs(drawn - np.array(color)).max(2) < 60)
        assert (edges > 100) == bool(got), (edges, got)
        results[sample] = got
    if name == "faces":
        assert [len(results[s]) for s in results] == [1, 0, 0, 0]
        left, top, right, bottom, score, _ = results["astronaut.png"][0]
        assert abs(left - 180) < 4 and abs(top - 59) < 4 and abs(right - left - 90) < 4 and abs(bottom - top - 118) < 4 and score > 0.9
    else:
        assert [results[s][0][5] for s in ("astronaut.png", "chelsea.png", "coffee.png")] == ["person", "cat", "cup"]


@pytest.mark.parametrize("name", DETECTORS)
def test_detector_refuses(tmp_path, name):
    program = build(name, DETECTORS[name][0], True)
    gallery.write_ppm(tmp_path / "one.ppm", np.zeros((1, 1, 3), np.uint8))
    assert run(program, tmp_path / "one.ppm", tmp_path / "out.jpg") == ""
    assert refused(program, 2, tmp_path / "absent").endswith("cannot open it\n")
    assert refused(program, 2, tmp_path / "one.ppm", tmp_path / "no" / "folder.jpg").endswith("cannot open it\n")
    refused(program, 1)


# ---- sharper ----

def interpolated(picture, times):
    """linear between the centres of pixels, rounded to bytes"""
    v = picture.astype(np.float64)
    for axis in (0, 1):
        n = v.shape[axis]
        at = np.clip((np.arange(times * n) + 0.5) / times - 0.5, 0, n - 1)
        low = np.minimum(at.astype(int), max(n - 2, 0))
        shape = [1] * v.ndim
        shape[axis] = -1
        part = (at - low).reshape(shape)
        v = v.take(low, axis) * (1 - part) + v.take(np.minimum(low + 1, n - 1), axis) * part
    return np.floor(v + 0.5)


def brightness(v):
    return v @ np.array([0.299, 0.587, 0.114]) / 255


def enlarged(network, picture):
    """the tiles that the page of the example describes, put together"""
    height, width, _ = picture.shape
    y, known, large = brightness(picture), np.zeros((3 * height, 3 * width)), interpolated(picture, 3)
    for top in [0, *range(212, max(212, height - 12), 212)]:
        for left in [0, *range(212, max(212, width - 12), 212)]:
            tile = np.zeros((224, 224), np.float32)
            part = y[top:top + 224, left:left + 224]
            tile[:part.shape[0], :part.shape[1]] = part
            output = network(tile[None, None])[0][0, 0]
            t, l = 18 * (top > 0), 18 * (left > 0)
            into = known[3 * top + t:3 * top + 672, 3 * left + l:3 * left + 672]
            into[:] = output[t:t + into.shape[0], l:l + into.shape[1]]      # the tile after it covers this one's outer pixels
    return np.clip(np.floor(large + 255 * (known - brightness(large))[:, :, None] + 0.5), 0, 255)


@pytest.mark.sample(2)
@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
def test_sharper(tmp_path, sanitize):
    program, network = build("sharper", "super_resolution", sanitize), gallery.session("super_resolution")
    _, whole = gallery.photograph("chelsea.png", tmp_path)
    for height, width in ((300, 451), (224, 224), (225, 237), (1, 1), (50, 448)) if not sanitize else ((224, 236), (237, 40)):
        picture = np.ascontiguousarray(whole[:height, :width])
        run(program, gallery.write_ppm(tmp_path / "in.ppm", picture), tmp_path / "out.ppm")
        got = gallery.read_ppm(tmp_path / "out.ppm").astype(float)
        assert got.shape == (3 * height, 3 * width, 3)
        square = np.mean((got - enlarged(network, picture)) ** 2)
        assert square < 255 ** 2 / 10 ** 6, f"{10 * np.log10(255 ** 2 / square)} dB"


def test_sharper_is(tmp_path):
    """closer to the original than interpolation"""
    program = build("sharper", "super_resolution")
    _, whole = gallery.photograph("astronaut.png", tmp_path)
    original = whole[:510, :510].astype(float)
    small = gallery.resized(np.ascontiguousarray(whole[:510, :510]), 170, 170)
    run(program, gallery.write_ppm(tmp_path / "in.ppm", small), tmp_path / "out.ppm")
    got = gallery.read_ppm(tmp_path / "out.ppm")
    assert np.mean((got - original) ** 2) < 0.95 * np.mean((interpolated(small, 3) - original) ** 2)


def test_sharper_refuses(tmp_path):
    program = build("sharper", "super_resolution", True)
    assert refused(program, 2, tmp_path / "absent", tmp_path / "out.ppm").endswith("cannot open it\n")
    refused(program, 1, tmp_path / "absent")
    path = gallery.write_ppm(tmp_path / "wide.ppm", np.zeros((1, 30000, 3), np.uint8))
    assert refused(program, 2, path, tmp_path / "out.jpg").endswith("no side of a JPEG image is longer than 65535\n")


# ---- text ----

def regions(p):
    """[(left, top, right, bottom, mean)] of pixels above 0.3 that touch, corners included, by their first pixels"""
    label, found = np.zeros(p.shape, int), []
    for start in zip(*np.nonzero(p > 0.3)):
        if label[start]:
            continue
        todo, pixels = [start], []
        label[start] = len(found) + 1
        while todo:
            y, x = todo.pop()
            pixels.append((y, x))
            for ny in range(max(0, y - 1), min(p.shape[0], y + 2)):
                for nx in range(max(0, x - 1), min(p.shape[1], x + 2)):
                    if p[ny, nx] > 0.3 and not label[ny, nx]:
                        label[ny, nx] = len(found) + 1
                        todo.append((ny, nx))
        y, x = np.array(pixels).T
        found.append((x.min(), y.min(), x.max() + 1, y.max() + 1, p[y, x].mean()))
    return found


@pytest.mark.sample(2)
@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
def test_text(tmp_path, sanitize):
    program, network, counts = build("text", "ppocr_det_en", sanitize), gallery.session("ppocr_det_en"), {}
    for sample in ["page.png", "text.png", "chelsea.png"]:
        path, picture = gallery.photograph(sample, tmp_path)
        square, scale = fitted(picture, 640)
        pixels = (square - np.float32([123.675, 116.28, 103.53])) / np.float32([58.395, 57.12, 57.375])
        p = network(pixels.transpose(2, 0, 1)[None].astype(np.float32))[0][0, 0]
        want = []
        for left, top, right, bottom, score in regions(p):
            more = 1.5 * (right - left) * (bottom - top) / (2 * (right - left + bottom - top))
            if score >= 0.6 and min(right - left, bottom - top) >= 3:
                want.append((left - more, top - more, right + more, bottom + more, score, "text"))
        agree(found(run(program, gallery.write_ppm(tmp_path / "square.ppm", square))), want, 0.6)
        lines = found(run(program, path, tmp_path / "out.jpg"))                # Pillow scales a little differently: of clear lines this changes nothing
        agree([b for b in lines if b[4] > 0.95], [(*(v / scale for v in b[:4]), *b[4:]) for b in want if b[4] > 0.95], 0.97)
        counts[sample] = sum(b[4] > 0.95 for b in lines)
    assert counts["page.png"] == 7 and counts["chelsea.png"] == 0, counts


def test_text_refuses(tmp_path):
    program = build("text", "ppocr_det_en", True)
    assert refused(program, 2, tmp_path / "absent").endswith("cannot open it\n")
    refused(program, 1)


# ---- table ----

TREES = ROOT / "examples" / "table" / "trees.onnx"


def converted(model):
    spec = importlib.util.spec_from_file_location("trees", ROOT / "examples" / "table" / "trees.py")
    trees = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(trees)
    return trees.converted(model)


def answers(network, rows):
    for row in rows:
        yield np.asarray(network(np.array(row[:13], np.float32)[None])[1]).reshape(-1)


def same_answers(lines, want):
    """the likeliest class, one of them where several are but for rounding"""
    for line, p in zip(lines, want, strict=True):
        kind, sure = line.split()
        assert p[int(kind)] > p.max() - 1e-5 and abs(float(sure) - p.max()) < 6e-4, (line, p)


@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
def test_table(tmp_path, sanitize):
    program = build("table", sanitize=sanitize)
    rows = np.random.default_rng(1).uniform([11, 0.7, 1.3, 10, 70, 0.9, 0.3, 0.1, 0.4, 1.2, 0.4, 1.2, 270],
                                            [15, 5.8, 3.3, 30, 162, 3.9, 5.1, 0.7, 3.6, 13, 1.8, 4, 1700], (300, 13)).astype(np.float32)
    (tmp_path / "rows.csv").write_text("".join(",".join(f"{v:.9g}" for v in row) + "\n" for row in rows))
    same_answers(run(program, tmp_path / "rows.csv").splitlines(), answers(gallery.session(TREES), rows))
    with open(tmp_path / "rows.csv") as file:
        assert run(program, "-", stdin=file) == run(program, tmp_path / "rows.csv")


def test_table_wine():
    path = gallery.sample("wine_data.csv", "sklearn/datasets/data")
    *lines, last = run(build("table"), path).splitlines()
    same_answers(lines, answers(gallery.session(TREES), np.loadtxt(path, delimiter=",", skiprows=1)))
    assert last == "177 of 178 are right"


def test_table_of_others(tmp_path):
    """XGBoost's trees, by trees.py, in the same program"""
    source = gallery.model("xgboost_trees")
    onnx.save(converted(onnx.load(source)), tmp_path / "trees.onnx")
    build("table", options=[f"MODEL={tmp_path / 'trees.onnx'}", f"NET={tmp_path / 'net'}", f"OUT={tmp_path / 'out'}"])
    rows = np.concatenate([dnncc.load_tensor(p) for p in sorted(source.parent.glob("test_data_set_*/input_0.pb"))])
    (tmp_path / "rows.csv").write_text("".join(",".join(f"{v:.9g}" for v in row) + "\n" for row in rows))
    same_answers(run(tmp_path / "out" / "table", tmp_path / "rows.csv").splitlines(), answers(gallery.session("xgboost_trees"), rows))


@pytest.mark.parametrize("compare", ["BRANCH_LT", "BRANCH_LEQ"])
@pytest.mark.parametrize("post", ["NONE", "SOFTMAX"])
@pytest.mark.parametrize("missing", [False, True])
def test_trees(tmp_path, compare, post, missing):
    """random trees, thresholds met exactly, and rows with NaN: trees.py's network against onnxruntime's operator"""
    rng = np.random.default_rng(7)
    a = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    votes = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(4):
        todo, count = [(0, 0)], 1
        while todo:
            node, level = todo.pop()
            leaf = level == 4 or (level and rng.random() < 0.2)
            yes, no = (0, 0) if leaf else (count, count + 1)
            for key, value in zip(a, (tree, node, int(rng.integers(5)), "LEAF" if leaf else compare, float(rng.integers(4)), yes, no,
                                      int(missing and rng.random() < 0.5 and not leaf))):
                a[key].append(value)
            if leaf:
                for kind in rng.choice(3, 2, replace=False):
                    for key, value in zip(votes, (tree, node, int(kind), float(rng.normal()))):
                        votes[key].append(value)
            else:
                todo += [(yes, level + 1), (no, level + 1)]
                count += 2
    node = helper.make_node("TreeEnsembleClassifier", ["input"], ["label", "probabilities"], domain="ai.onnx.ml", post_transform=post,
                            classlabels_int64s=[0, 1, 2], base_values=[0.25, 0.0, -0.5], **{f"nodes_{k}": v for k, v in a.items()},
                            **{f"class_{k}": v for k, v in votes.items()})
    graph = helper.make_graph([node], "trees", [helper.make_tensor_value_info("input", 1, [None, 5])],
                              [helper.make_tensor_value_info("label", 7, [None]), helper.make_tensor_value_info("probabilities", 1, [None, 3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 13)], ir_version=7), tmp_path / "a.onnx")
    theirs = gallery.session(tmp_path / "a.onnx")
    graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5
    onnx.save(converted(onnx.load(tmp_path / "a.onnx")), tmp_path / "b.onnx")
    ours = gallery.session(tmp_path / "b.onnx")
    rows = rng.integers(-1, 5, (200, 5)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    for row in rows:
        (label, p), (want, q) = ours(row[None]), theirs(row[None])
        assert np.abs(p - q).max() < 1e-5 and label[0] == want[0]


def test_table_refuses(tmp_path):
    program = build("table", sanitize=True)
    good = ",".join("1" * 13)
    for text, row in [(good + "\n1,2\n", 2), (good + ",1,1\n", None), (good + "\nx" + good, 2), (good + "\n\n", 2), (good + "\n" + "1," * 5000, 2),
                      (good + "\n1," + "," * 11 + "1\n", 2), (good + "\n" + good + ",\n", 2)]:
        (tmp_path / "x.csv").write_text(text)
        done = dnncc.run([program, tmp_path / "x.csv"])
        assert done.returncode == (2 if row else 0) and done.stderr == (f"table: {tmp_path}/x.csv, row {row}: a row has 13 numbers, or 14\n" if row else "")
    (tmp_path / "nan.csv").write_text("nan" + ",1" * 12 + "\ninf" + ",-1e39" * 12 + "\n")
    assert len(run(program, tmp_path / "nan.csv").splitlines()) == 2
    assert refused(program, 2, tmp_path / "absent").endswith("cannot open it\n")
    refused(program, 1)


# ---- learn ----

@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
def test_learn(sanitize):
    program = build("learn", sanitize=sanitize, options=["TARGET=generic"])
    first, *lines = run(program, 300).splitlines()
    assert re.fullmatch(r"state: \d+ bytes, workspace: \d+ bytes, no malloc", first)
    rows = [re.fullmatch(r" *(\d+) updates  loss (\S+) +(\d+) of 40 right, +(\d+) of the 20 that it is not taught", line).groups() for line in lines]
    assert [int(updates) for updates, *_ in rows] == [1, 50, 100, 150, 200, 250, 300]
    assert float(rows[0][1]) > 1.5 and int(rows[0][2]) < 16, "it has forgotten"
    assert float(rows[-1][1]) < 0.05 and int(rows[-1][2]) == 40 and int(rows[-1][3]) >= 15


def test_learn_makes_what_cmake_does():
    make, cmake = ((ROOT / "examples" / path).read_text() for path in ("learn/Makefile", "CMakeLists.txt"))
    assert f"add_example(learn ../digits/digits.onnx {re.search(r'^FLAGS = (.*)$', make, re.M).group(1)})\n" in cmake
    assert (ROOT / "examples" / "learn" / "main.c").read_text().count("--accumulate") == 1 and "BATCH = 8" in (ROOT / "examples" / "learn" / "main.c").read_text()


# ---- all of them ----

ALL = {"photo": "resnet8_fp32", "story": "stories260k_prefill", "filetype": "magika_v3", "words": "dscnn_kws_int8", "faces": "yunet_face",
       "objects": "nanodet_m_320", "speech": "silero_vad", "sharper": "super_resolution", "text": "ppocr_det_en", "table": None}


def test_pages():
    """Each example has a page of its own, a row of the gallery's, and the same line for CMake as for Make."""
    assert all(len(path.read_text().splitlines()) <= 120 for path in ROOT.glob("examples/*/main.c"))
    assert all(len(path.read_text().splitlines()) <= 300 for path in ROOT.glob("examples/support/*.[ch]"))
    gallery_page, cmake = (ROOT / "examples" / "README.md").read_text(), (ROOT / "examples" / "CMakeLists.txt").read_text()
    assert {path.parent.name for path in ROOT.glob("examples/*/Makefile")} == {*ALL, "learn", "llm", "firmware", "cuda", "vta", "jit"}      # whose model is made first, which are for other machines, or for any model
    for name, needs in ALL.items():
        make = (ROOT / "examples" / name / "Makefile").read_text()
        page = (ROOT / "examples" / name / "README.md").read_text()
        flags = re.search(r"^FLAGS = (.*)$", make, re.M)
        where, own = (f"$(MODELS)/{needs}/model.onnx", needs) if needs else ("trees.onnx", "trees.onnx")
        assert f"NAME := {name}\nMODEL = {where}\n" in make
        assert " ".join(["add_example(" + name, own, *([flags.group(1)] if flags else [])]) + ")\n" in cmake
        assert f"]({name}/README.md)" in gallery_page
        assert f"make -C examples/{name}{' MODEL=' if needs else ''}" in page and "**Model**" in page and len(page.splitlines()) < 60


def spent():
    """processor seconds of all processes that have been waited for"""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.long
def test_gallery(tmp_path):
    """Make and CMake build everything, for a minute of processor time at most, for any machine, too; without models nothing is built,
    which is no error for all of them, and one for a certain one."""
    for needs in filter(None, ALL.values()):
        gallery.model(needs)
    options = [f"MODELS={gallery.MODELS}", f"DNNCC={dnncc.DNNCC}"]
    before = spent()
    run("make", "-C", ROOT / "examples", f"OUT={tmp_path / 'native'}", *options)
    assert spent() - before < 60
    assert all((tmp_path / "native" / name).exists() for name in ALL)
    run("make", "-C", ROOT / "examples", f"OUT={tmp_path / 'generic'}", "TARGET=generic", *options)
    path, _ = gallery.photograph("chelsea.png", tmp_path)
    assert ": cat 0.9" in run(tmp_path / "generic" / "photo", path)
    done = dnncc.run(["make", "-C", ROOT / "examples", f"OUT={tmp_path / 'none'}", f"MODELS={tmp_path}", options[1]])
    assert done.returncode == 0 and done.stdout.count("README.md says where it comes from") == len(ALL) - 1
    assert dnncc.run(["make", "-C", ROOT / "examples" / "photo", f"OUT={tmp_path / 'none'}", f"MODELS={tmp_path}", options[1]]).returncode != 0
    if not dnncc.shutil.which("cmake"):
        return
    run("cmake", "-S", ROOT / "examples", "-B", tmp_path / "cmake", *(f"-D{o}" for o in options))
    run("cmake", "--build", tmp_path / "cmake", timeout=120)
    assert run(tmp_path / "cmake" / "photo", path) == run(tmp_path / "native" / "photo", path)
