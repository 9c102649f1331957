# SPDX-License-Identifier: MIT
"""examples/support against Pillow and NumPy, and against hostile files; all under ASan and UBSan."""
import os
import pathlib
import random
import struct

import numpy as np
import pytest

import gallery
from gallery import ROOT, dnncc, run

CC = "gcc"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("support") / "support"
    here = ROOT / "examples" / "support"
    done = dnncc.run([CC, "-std=c99", *gallery.SANITIZE.split(), "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", f"-I{here}",
                      ROOT / "test" / "examples" / "support.c", *sorted(here.glob("*.c")), "-lm", "-o", path])
    assert done.returncode == 0, done.stderr
    return path


def lines(path):
    return len(path.read_text().splitlines())


def test_sizes():
    """a page of C each, and what they share not much more"""
    for path in ROOT.glob("examples/*/main.c"):
        assert lines(path) <= 120, path
    for path in ROOT.glob("examples/support/*.[ch]"):
        assert lines(path) < 300, path


def test_clang():
    if dnncc.shutil.which("clang"):
        here = ROOT / "examples" / "support"
        done = dnncc.run(["clang", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only", *sorted(here.glob("*.c"))])
        assert done.returncode == 0, done.stderr


# ---- images ----

def noise(width, height, seed=1):
    """random pixels under a smooth picture"""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    smooth = 128 + 80 * np.sin(np.stack([x / 9, y / 7, (x + y) / 11], 2))
    return np.clip(smooth + rng.normal(0, 8, smooth.shape), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("options", [{"subsampling": 0}, {"subsampling": 1}, {"subsampling": 2}, {"subsampling": 2, "restart_marker_blocks": 3},
                                     {"optimize": True}, {"quality": 100}, {"quality": 10}, {"mode": "L"}],
                         ids=lambda o: "-".join(f"{k}={v}" for k, v in o.items()))
@pytest.mark.parametrize("size", [(64, 48), (33, 17), (1, 1), (7, 130)])
def test_jpeg(program, tmp_path, size, options):
    Image, options = gallery.pillow(), {"quality": 80, **options}
    Image.fromarray(noise(*size)).convert(options.pop("mode", "RGB")).save(tmp_path / "a.jpg", **options)
    run(program, "image", tmp_path / "a.jpg", tmp_path / "a.ppm")
    difference = np.abs(gallery.pixels(tmp_path / "a.jpg").astype(int) - gallery.read_ppm(tmp_path / "a.ppm"))
    assert difference.max() <= 4 and difference.mean() < 0.5


def test_jpeg_scans(program, tmp_path):
    """one component after the other, as the standard allows"""
    Image = gallery.pillow()
    Image.fromarray(noise(40, 25)).convert("L").save(tmp_path / "a.jpg", quality=90)
    whole = (tmp_path / "a.jpg").read_bytes()
    frame, scan = whole.index(b"\xff\xc0"), whole.index(b"\xff\xda")
    head = bytearray(whole[frame:frame + 13])
    head[3], head[9] = 17, 3                                # three components, of which the first is at full size
    three = bytes(head[:10]) + b"\1\x22\0\2\x22\0\3\x22\0"
    bits = [whole[scan:scan + 5] + bytes([k]) + whole[scan + 6:-2] for k in (1, 2, 3)]
    (tmp_path / "b.jpg").write_bytes(whole[:frame] + three + whole[frame + 13:scan] + b"".join(bits) + b"\xff\xd9")
    run(program, "image", tmp_path / "b.jpg", tmp_path / "b.ppm")
    difference = np.abs(gallery.pixels(tmp_path / "b.jpg").astype(int) - gallery.read_ppm(tmp_path / "b.ppm"))
    assert difference.max() <= 3


@pytest.mark.parametrize("size", [(64, 48), (33, 17), (1, 1), (200, 3)])
def test_jpeg_written(program, tmp_path, size):
    """Pillow reads what is written, and it is the picture as closely as Pillow writes it with the same steps"""
    Image, picture = gallery.pillow(), noise(*size)
    run(program, "image", gallery.write_ppm(tmp_path / "a.ppm", picture), tmp_path / "a.jpg")
    steps = list(Image.open(tmp_path / "a.jpg").quantization[0])
    Image.fromarray(picture).save(tmp_path / "b.jpg", subsampling=0, qtables=[steps, steps])
    ours, theirs = (gallery.pixels(tmp_path / name).astype(int) for name in ("a.jpg", "b.jpg"))
    assert ours.shape == picture.shape
    assert np.abs(ours - picture).mean() <= 1.05 * np.abs(theirs - picture).mean() + 1


def test_jpeg_extremes(program, tmp_path):
    """the largest differences from block to block, and from pixel to pixel"""
    y, x = np.mgrid[0:64, 0:64]
    for k, pattern in enumerate([(x // 8 + y // 8) % 2, (x + y) % 2, x % 2]):
        picture = (np.stack([pattern] * 3, 2) * 255).astype(np.uint8)
        run(program, "image", gallery.write_ppm(tmp_path / f"{k}.ppm", picture), tmp_path / f"{k}.jpg")
        assert np.abs(gallery.pixels(tmp_path / f"{k}.jpg").astype(int) - picture).max() < 12
        run(program, "image", tmp_path / f"{k}.jpg", tmp_path / "again.ppm")
        assert np.abs(gallery.read_ppm(tmp_path / "again.ppm").astype(int) - picture).max() < 12


@pytest.mark.parametrize("part,to", [((0, 0, 60, 40), (30, 20)), ((0, 0, 60, 40), (17, 11)), ((10, 4, 32, 32), (32, 32)),
                                     ((3, 2, 50, 31), (131, 64)), ((0, 0, 60, 40), (1, 1)), ((59, 39, 1, 1), (5, 5))])
def test_resample(program, tmp_path, part, to):
    picture = noise(60, 40)
    run(program, "image", gallery.write_ppm(tmp_path / "a.ppm", picture), tmp_path / "b.ppm", *part, *to)
    left, top, width, height = part
    want = gallery.resized(np.ascontiguousarray(picture[top:top + height, left:left + width]), *to)
    assert np.abs(gallery.read_ppm(tmp_path / "b.ppm").astype(int) - want).max() <= 1


@pytest.mark.parametrize("box", [(5, 6, 30, 25), (-10, -1e9, 20, 1e9), (50, 30, 40, 20), (float("nan"), 3, 20, 30), (0, 0, 60, 40), (70, 2, 90, 9)])
def test_rectangle(program, tmp_path, box):
    picture = noise(60, 40)
    run(program, "draw", gallery.write_ppm(tmp_path / "a.ppm", picture), tmp_path / "b.ppm", *box, 2)
    changed = np.any(gallery.read_ppm(tmp_path / "b.ppm") != picture, axis=2)
    if box == (5, 6, 30, 25):
        want = np.zeros_like(changed)
        want[6:25, 5:30] = True
        want[8:23, 7:28] = False
        assert np.array_equal(changed, want)
    if box[0] == 70:
        assert not changed.any()


# ---- sounds ----

def wav_bytes(kind, bits, channels, data, extra=b"", extensible=False, size=None):
    block = channels * bits // 8
    body = struct.pack("<HHIIHH", 0xfffe if extensible else kind, channels, 16000, 16000 * block, block, bits)
    if extensible:
        body += struct.pack("<HHIH14s", 22, bits, 0, kind, b"\0" * 14)
    chunks = b"fmt " + struct.pack("<I", len(body)) + body + extra + b"data" + struct.pack("<I", len(data) if size is None else size) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize("kind,bits", [(1, 8), (1, 16), (1, 24), (1, 32), (3, 32)])
def test_wav(program, tmp_path, kind, bits, channels):
    rng = np.random.default_rng(bits)
    sound = rng.uniform(-1, 1, (500, channels))
    sound[0], sound[1] = -1, 0
    if kind == 3:
        data, want = sound.astype("<f4").tobytes(), sound
    elif bits == 8:
        bytes_ = np.round(sound * 127 + 128 - (sound == -1)).astype(np.uint8)
        data, want = bytes_.tobytes(), (bytes_ - 128.0) / 128
    else:
        numbers = np.round(sound * (2 ** (bits - 1) - 1)).astype("<i4")
        data = b"".join(struct.pack("<i", n)[:bits // 8] for n in numbers.reshape(-1))
        want = numbers / 2 ** (bits - 1)
    odd = b"LIST" + struct.pack("<I", 3) + b"abc\0"                 # chunks of odd sizes are filled up
    for k, contents in enumerate([wav_bytes(kind, bits, channels, data), wav_bytes(kind, bits, channels, data, odd, extensible=True),
                                  wav_bytes(kind, bits, channels, data, size=0x7ffff000)]):
        path = tmp_path / f"{k}.wav"
        path.write_bytes(contents)
        (tmp_path / "got").write_bytes(b"")
        with open(tmp_path / "got", "wb") as out:
            dnncc.subprocess.run([program, "wav", path], stdout=out, check=True)
        got = np.fromfile(tmp_path / "got", np.float32)
        assert got.shape == (500,) and np.abs(got - want.mean(axis=1)).max() < 1e-6


def mfcc(window, rate, points, bands, coefficients, low, high):
    """the formulas of tf.signal, matrix by matrix"""
    def mel(f):
        return 1127 * np.log1p(np.asarray(f) / 700)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(len(window)) / len(window))
    sizes = np.abs(np.fft.rfft(window * hann, points))
    edges = np.linspace(mel(low), mel(high), bands + 2)
    at = mel(np.arange(points // 2 + 1) * rate / points)[:, None]
    rising, falling = (at - edges[:-2]) / (edges[1:-1] - edges[:-2]), (edges[2:] - at) / (edges[2:] - edges[1:-1])
    weights = np.maximum(0, np.minimum(rising, falling))
    weights[0] = 0
    logs = np.log(sizes @ weights + 1e-6)
    k = np.arange(coefficients)[:, None]
    return np.sqrt(2 / bands) * (np.cos(np.pi * k * (np.arange(bands) + 0.5) / bands) @ logs)


@pytest.mark.parametrize("settings", [(16000, 480, 512, 40, 10, 20, 4000), (16000, 400, 512, 26, 13, 0, 8000), (8000, 256, 256, 20, 20, 100, 3800)])
def test_mfcc(program, tmp_path, settings):
    rate, window, points, bands, coefficients, low, high = settings
    sound = np.random.default_rng(3).uniform(-0.5, 0.5, 2048) + 0.4 * np.sin(np.arange(2048) / 5)
    gallery.write_wav(tmp_path / "a.wav", sound, rate)
    got = [float(x) for x in run(program, "mfcc", *settings, tmp_path / "a.wav").split()]
    want = mfcc(gallery.read_wav(tmp_path / "a.wav")[:window].astype(float), rate, points, bands, coefficients, low, high)
    assert np.allclose(got, want, rtol=1e-5, atol=1e-5)


# ---- boxes ----

def suppressed(boxes, overlap):
    kept = []
    for b in sorted(boxes, key=lambda b: -b[4]):
        for k in kept:
            both = max(0, min(b[2], k[2]) - max(b[0], k[0])) * max(0, min(b[3], k[3]) - max(b[1], k[1]))
            either = (b[2] - b[0]) * (b[3] - b[1]) + (k[2] - k[0]) * (k[3] - k[1]) - both
            if b[5] == k[5] and both > overlap * either:
                break
        else:
            kept.append(b)
    return kept


@pytest.mark.parametrize("count,overlap", [(0, 0.5), (1, 0.5), (300, 0.5), (300, 0.05), (300, 1)])
def test_boxes(program, tmp_path, count, overlap):
    rng = np.random.default_rng(count)
    corner, size = rng.uniform(0, 60, (count, 2)), rng.uniform(1, 40, (count, 2))
    boxes = np.concatenate([corner, corner + size, rng.permutation(count)[:, None] / 512, rng.integers(0, 3, (count, 1))], axis=1)
    boxes = boxes.astype(np.float32).astype(float)
    (tmp_path / "in").write_text("\n".join(" ".join(f"{v:.9g}" for v in b) for b in boxes))
    with open(tmp_path / "in") as given:
        got = [list(map(float, line.split())) for line in run(program, "boxes", overlap, stdin=given).splitlines()]
    assert np.array_equal(np.float32(got), np.float32(suppressed(boxes.tolist(), overlap)))


# ---- hostile files ----

SEEDS = ["grey", "colors", "restarts", "ours", "ppm", "pcm", "floats"]


def seed_file(kind, program, folder):
    Image, path = gallery.pillow(), folder / "seed"
    if kind == "ppm":
        return gallery.write_ppm(path, noise(20, 16)).read_bytes()
    if kind in ("pcm", "floats"):
        data = np.random.default_rng(1).uniform(-1, 1, 200)
        return wav_bytes(3, 32, 2, data.astype("<f4").tobytes()) if kind == "floats" else wav_bytes(1, 16, 1, (data * 32767).astype("<i2").tobytes())
    if kind == "ours":
        run(program, "image", gallery.write_ppm(folder / "a.ppm", noise(20, 16)), folder / "a.jpg")
        return (folder / "a.jpg").read_bytes()
    Image.fromarray(noise(40, 25)).convert("L" if kind == "grey" else "RGB").save(
        path, "jpeg", quality=60, **({"restart_marker_blocks": 1} if kind == "restarts" else {}))
    return path.read_bytes()


def damaged(data, rng):
    """cut off; or bytes, or sizes, changed; or a part twice, or missing"""
    data = bytearray(data)
    how = rng.randrange(6)
    head = min(len(data), 700)
    at = rng.randrange(head if rng.random() < 0.7 else len(data))
    if how == 0:
        del data[at:]
    elif how == 1:
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(head)] = rng.choice([0, 1, 2, 3, 4, 0x11, 0x44, 0x7f, 0x80, 0xff, rng.randrange(256)])
    elif how == 2:
        data[at:at + rng.choice([2, 4])] = rng.choice([b"\xff\xff", b"\0\0", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\x7f", b"\xff\xff\xff\x7f"])
    elif how == 3:
        data[at:at] = data[at:at + rng.randrange(1, 90)]
    elif how == 4:
        del data[at:at + rng.randrange(1, 60)]
    else:
        for _ in range(rng.randrange(1, 40)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def tried(program, paths):
    """how many refusals; a process that dies says which file it was about"""
    environment = {**os.environ, "ASAN_OPTIONS": "max_allocation_size_mb=64:detect_leaks=1"}
    done = dnncc.run([program, "try", *paths], env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return int(done.stdout.split()[0])


@pytest.mark.parametrize("kind", SEEDS)
def test_damaged(program, tmp_path, kind):
    rng, data, paths = random.Random(kind), seed_file(kind, program, tmp_path), []
    assert tried(program, [write(tmp_path / "whole", data)]) == 1           # an image is no sound, and a sound no image
    for k in range(400):
        paths.append(write(tmp_path / f"{k:03}", damaged(data, rng)))
    assert tried(program, paths) > 410                                      # of 800, half of which are refused for their kind


def write(path, data):
    path.write_bytes(data)
    return path


def message(program, tmp_path, data):
    done = dnncc.run([program, "image", write(tmp_path / "x", data), tmp_path / "y.ppm"], env={**os.environ, "ASAN_OPTIONS": "max_allocation_size_mb=64"})
    assert done.returncode == 1 and not (tmp_path / "y.ppm").exists()
    return done.stderr.partition(": ")[2].strip()


def test_messages(program, tmp_path):
    Image = gallery.pillow()
    whole = seed_file("colors", program, tmp_path)
    frame, codes, steps = whole.index(b"\xff\xc0"), whole.index(b"\xff\xc4"), whole.index(b"\xff\xdb")

    def at(position, value):
        return whole[:position] + value + whole[position + len(value):]
    Image.fromarray(noise(40, 25)).save(tmp_path / "p.jpg", progressive=True)
    cases = {
        "it is neither JPEG nor PPM (P6)": b"GIF89a...",
        "it ends early": whole[:-40],
        "the image is too large": at(frame + 5, b"\xff\xff\xff\xff"),
        "it has no pixels, or neither one nor three components": at(frame + 5, b"\0\0"),
        "a frame's head is damaged": at(frame + 11, b"\x55"),
        "a frame's head is damaged, or not of 8 bits": at(frame + 4, b"\x0c"),
        "a table of codes is damaged": at(codes + 5, b"\xff"),
        "a quantization table is damaged": at(steps + 4, b"\x07"),
        "a scan needs a table that the file does not define": whole[:codes] + whole[whole.index(b"\xff\xda"):],
        "it is JPEG of another kind than baseline (progressive, say)": (tmp_path / "p.jpg").read_bytes(),
        "a PPM's head must be P6, width, height and 255": b"P6\n3 x\n255\n",
    }
    for want, data in cases.items():
        assert message(program, tmp_path, data) == want
    assert message(program, tmp_path, at(frame + 5, b"\x10\x00\x10\x00")) == "it ends early"        # believed only with bits for 4096 x 4096
    assert message(program, tmp_path, b"P6\n60000 60000\n255\n") == "it ends early"
