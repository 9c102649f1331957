# SPDX-License-Identifier: MIT
"""What the tests of the examples share: build one, as its page says, and where pictures and voices come from.

Models of others lie beside the project (DNNCC_MODELS, default ../shared/models), pictures and a table are samples of scikit-image and scikit-learn (`make samples`),
voices are espeak-ng's: a test is skipped, and says what is missing, where one of them is not there."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import wave

import numpy as np
import onnxruntime
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "support"))
sys.path.append(str(ROOT / "build" / "samples"))
import dnncc  # noqa: E402

MODELS = pathlib.Path(os.environ.get("DNNCC_MODELS", ROOT.parent / "shared" / "models"))
OUT = ROOT / "build" / "test-examples"
SANITIZE = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
RATE = 16000


def model(name):
    path = MODELS / name / "model.onnx"
    if not path.exists():
        pytest.skip(f"the model {name} is not in the models folder")
    return path


def build(name, needs=None, sanitize=False, options=()):
    """the program of examples/NAME, whose model is `needs`, None: it lies there; sanitize: what is not generated runs under ASan and UBSan"""
    if needs:
        model(needs)
    out = OUT / ("sanitized" if sanitize else "plain")
    out.mkdir(parents=True, exist_ok=True)
    with open(OUT / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = dnncc.run(["make", "-C", ROOT / "examples" / name, f"OUT={out}", f"NET={OUT / 'nets' / name}", f"MODELS={MODELS}", f"DNNCC={dnncc.DNNCC}",
                          *([f"CFLAGS={SANITIZE}"] if sanitize else []), *options], timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr, done.stderr
    return out / name


def run(program, *arguments, **keywords):
    """what it prints; it must succeed"""
    done = dnncc.run([program, *arguments], **keywords)
    assert done.returncode == 0, done.stderr
    return done.stdout


def session(name):
    """a function: inputs by position -> outputs; name: of a model, or a file"""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    runner = onnxruntime.InferenceSession(str(name if isinstance(name, pathlib.Path) else model(name)), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in runner.get_inputs()]
    return lambda *inputs: runner.run(None, dict(zip(names, inputs)))


# ---- pictures ----

def pillow():
    return pytest.importorskip("PIL.Image", reason="Pillow is not installed: make samples")


def sample(name, folder="skimage/data"):
    path = ROOT / "build" / "samples" / folder / name
    if not path.exists():
        pytest.skip("the samples of scikit-image and scikit-learn are not installed: make samples")
    return path


def photograph(name, folder, **options):
    """a sample picture as JPEG; its path, and its pixels as Pillow reads them"""
    path = pathlib.Path(folder) / (pathlib.Path(name).stem + ".jpg")
    pillow().open(sample(name)).convert("RGB").save(path, quality=92, **options)
    return path, pixels(path)


def pixels(path):
    return np.asarray(pillow().open(path).convert("RGB"))


def resized(picture, width, height):
    Image = pillow()
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR))


def write_ppm(path, picture):
    path.write_bytes(b"P6\n%d %d\n255\n" % (picture.shape[1], picture.shape[0]) + picture.tobytes())
    return path


def read_ppm(path):
    head, size, most, data = path.read_bytes().split(b"\n", 3)
    assert (head, most) == (b"P6", b"255")
    width, height = map(int, size.split())
    return np.frombuffer(data, np.uint8).reshape(height, width, 3)


# ---- voices ----

def resampled(sound, rate):
    """at RATE; what is above half of that is left out"""
    count = round(len(sound) * RATE / rate)
    spectrum = np.fft.rfft(sound)
    new = np.zeros(count // 2 + 1, complex)
    n = min(len(spectrum), len(new))
    new[:n] = spectrum[:n]
    return np.fft.irfft(new, count) * count / len(sound)


def spoken(text, folder, voice="en-us", speed=150, pitch=50):
    """what espeak-ng says, at RATE, -1 to 1"""
    if not shutil.which("espeak-ng"):
        pytest.skip("espeak-ng is not installed: make samples")
    path = pathlib.Path(folder) / "spoken.wav"
    subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-w", path, text], check=True)
    with wave.open(str(path)) as file:
        sound = np.frombuffer(file.readframes(file.getnframes()), np.int16) / 32768
        return resampled(sound, file.getframerate())


def write_wav(path, sound, rate=RATE, channels=1):
    """of 16 bits; sound: frames, or frames x channels"""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.clip(np.round(np.asarray(sound) * 32768), -32768, 32767).astype("<i2").tobytes())
    return path


def read_wav(path):
    """what a program reads that takes 16 bits for numbers from -1 to 1"""
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768


def refused(program, code, *arguments):
    """one line on standard error, nothing else"""
    done = dnncc.run([program, *arguments])
    assert done.returncode == code and done.stdout == "" and done.stderr.count("\n") == 1, (done.returncode, done.stdout, done.stderr)
    return done.stderr
