# SPDX-License-Identifier: MIT
"""Files of ranges that --quantize reads: hostile ones end in one error that names line and number, without much time or memory; those of the same
function are the same, however it came about."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from test_calibration import BAD_ARRAYS, RANDOM, calibrate, floats, info, model, refused, run, save  # noqa: F401

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "models")]
import dnncc  # noqa: E402
from test_models import MODELS, bindings  # noqa: E402

HEAD = f"dnncc-ranges 1\nfunction {'a' * 64}\nchannels none\nsamples 1\nsample s {'b' * 64}\n"
EMPTY = "tensor {} count 0 infinite 0 extent none sum 0p0 squares 0p0 samples none channels 0 exponent -100 bins 0\n"


@pytest.fixture
def made(model, tmp_path):  # noqa: F811
    """(model, its file of ranges)"""
    np.savez(tmp_path / "s.npz", x=floats(3, 3, 6, 6))
    calibrate(model, tmp_path / "s.npz", tmp_path / "r.ranges", "--channels=second")
    return model, tmp_path / "r.ranges"


# ---- hostile files ----

def mutated(r, text):
    """bytes, words, numbers and lines changed; two files cut together"""
    at, kind = int(r.integers(len(text))), r.integers(7)
    lines = text.split("\n")
    i, k = (int(v) for v in r.integers(0, len(lines), 2))
    if kind == 0:
        return text[:at] + chr(r.integers(1, 127)) + text[at + 1:]
    if kind == 1:
        return text[:at] + text[at + int(r.integers(1, 200)):]
    if kind == 2:
        return text[:at]
    if kind == 3:
        lines[i], lines[k] = lines[k], lines[i]
    elif kind == 4:
        lines.insert(i, lines[k])
    elif kind == 5:
        numbers = list(re.finditer(r"-?\d+(\.\d+)?", lines[i]))
        if numbers:
            found = numbers[r.integers(len(numbers))]
            new = r.choice(["0", "-1", "1", "2147483648", "9223372036854775807", "18446744073709551616", "1e39", "nan", "0x10"])
            lines[i] = lines[i][:found.start()] + new + lines[i][found.end():]
    else:
        return text[:at] + text[int(r.integers(len(text))):]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)])
def test_mutations(made, seed, tmp_path):
    path, file = made
    text, bad, out, r, codes = file.read_text(), tmp_path / "bad.ranges", tmp_path / "out.c", np.random.default_rng(seed), []
    for _ in range(250):
        variant = text
        for _ in range(r.integers(1, 4)):
            variant = mutated(r, variant) or " "
        bad.write_text(variant, newline="")
        done = run(path, "-q", f"--quantize={bad}", "-o", out)
        codes.append(done.returncode)
        assert done.returncode in (dnncc.OK, dnncc.INVALID), (done.returncode, done.stderr)
        assert done.stderr.count("\n") == (done.returncode != dnncc.OK) and len(done.stderr) < 500, done.stderr
        assert out.exists() == (done.returncode == dnncc.OK)
        out.unlink(missing_ok=True)
    assert codes.count(dnncc.INVALID) > 100


def peak(*command):
    """(exit code, what it said, peak memory in bytes)"""
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, said, usage.ru_maxrss * 1024


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", ["--quantize", "--merge"])
def test_memory(model, how, tmp_path):  # noqa: F811
    """a file of empty histograms takes no more memory than is allowed, and the limit is named"""
    count, out = 60000, tmp_path / "out.c"
    (tmp_path / "bad.ranges").write_text(HEAD + f"tensors {count}\n" + "".join(EMPTY.format(f"t{i}") for i in range(count)))
    arguments = [dnncc.DNNCC, *([model] if how == "--quantize" else []), f"{how}={tmp_path / 'bad.ranges'}", "-o", out]
    code, said, most = peak(*arguments)
    assert code == dnncc.INVALID and re.search(r"line \d+ of the ranges: its tensors take more than 536870912 bytes .*--limit range_bytes=N", said), said
    code, said, small = peak(*arguments, "--limit=range_bytes=8M")
    assert code == dnncc.INVALID and "8388608" in said and not out.exists()
    if not os.environ.get("DNNCC"):
        base = peak(dnncc.DNNCC, "--version")[2]                # of what started it, too
        assert most < base + (640 << 20) and small < base + (64 << 20)
    assert run(*arguments[1:], "--limit=range_bytes=2G", "-q").returncode == (dnncc.OK if how == "--merge" else dnncc.INVALID)


def changed(text, line, old, new):
    """text with the first `old` of the line that begins so changed"""
    start = text.index(line)
    at = text.index(old, start)
    return text[:at] + new + text[at + len(old):]


def fewer(text):
    """the last extent of relu's channels left out"""
    line = next(l for l in text.split("\n") if l.startswith("tensor relu1.max "))
    return text.replace(line, re.sub(r" \S+ \S+ exponent", " exponent", line))


CASES = {
    "counts wrap": (lambda t: re.sub(r"(tensor conv1.add .* bins -?\d+).*", r"\1 " + " ".join(["9223372036854775807"] * 3), t),
                    r"line \d+ of the ranges: what the bins count wraps"),
    "another count": (lambda t: changed(t, "tensor fc.dot ", "count 15", "count 16"),
                      r"line \d+ of the ranges: the bins count 15 numbers, the tensor has 16"),
    "too few channels": (fewer, r"line \d+ of the ranges: want a finite number, not 'exponent'"),
    "too few samples": (lambda t: changed(t, "samples 3", "samples 3", "samples 2"), r"line 7 of the ranges: want 'tensors', not 'sample'"),
    "another model": (lambda t: re.sub(r"function \w{12}", "function 0123456789ab", t),
                      r"the ranges are of another model: they are for 0123456789ab\.\., and this is \w{12}\.\."),
    "no numbers": (lambda t: re.sub(r"tensor relu1\.max .*\n", "", re.sub(r"tensor flat\.reshape .*\n", "", re.sub(r"tensors (\d+)", lambda m: f"tensors {int(m[1]) - 2}", t))),
                   r"the ranges hold no numbers of 'relu1\.max' \(max\)"),
    "infinite extent": (lambda t: re.sub(r"(tensor fc\.dot .* extent) \S+", r"\1 -1e99", t), r"line \d+ of the ranges: want a finite number, not '-1e99'"),
    "falling extent": (lambda t: re.sub(r"(tensor fc\.dot .* extent) \S+", r"\1 1e30", t), r"line \d+ of the ranges: the least of a range is above the most"),
    "exponent": (lambda t: re.sub(r"(tensor fc\.dot .* exponent) (-?\d+)", r"\1 99", t), r"line \d+ of the ranges: the exponent for this extent is -?\d+"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", CASES)
def test_errors(made, case, tmp_path):
    path, file = made
    change, text = CASES[case]
    whole = file.read_text()
    bad = change(whole)
    assert bad != whole
    (tmp_path / "bad.ranges").write_text(bad)
    done = run(path, f"--quantize={tmp_path / 'bad.ranges'}", "-o", tmp_path / "out.c")
    assert done.returncode == dnncc.INVALID and re.search(text, done.stderr) and done.stderr.count("error: ") == 1, done.stderr
    assert not (tmp_path / "out.c").exists()


def test_samples_are_refused_elsewhere():
    """NaN in a sample, and samples of another shape: test_calibration.py has them"""
    assert {"NaN", "infinite", "shape", "rank"} <= set(BAD_ARRAYS)


# ---- the same function ----

def digest(*arguments):
    """that of what --quantize is asked for, by its error"""
    done = run(*arguments, "--emit=ir", "-o", os.devnull)
    found = re.search(r"and this is (\w+)\.\.", done.stderr)
    return found[1] if found else done.stderr


def dumps_agree(path, folder, *options):
    (folder / "none.ranges").write_text(HEAD + "tensors 0\n")
    none, found = f"--quantize={folder / 'none.ranges'}", {}
    found["model"] = digest(path, none, *options)
    for passes in ("simplify,fold,cse,dce", "simplify", ""):
        done = run(path, "--emit=ir", f"--passes={passes}", "-q", "-o", folder / "dump.dnn", *options)
        assert done.returncode == 0, done.stderr
        if passes != "simplify":                # which goes on with all of the list
            found[passes] = digest(folder / "dump.dnn", none)
    assert len(set(found.values())) == 1 and len(found["model"]) == 12, found


def test_digest_of_shared_constants(tmp_path):
    """a small constant that two operations read is two in a dump"""
    c = np.array([.5, 2, 3], np.float32)
    path = save(tmp_path / "m.onnx", [helper.make_node("Mul", ["x", "c"], ["a"]), helper.make_node("Exp", ["a"], ["e"]), helper.make_node("Add", ["e", "c"], ["y"])],
                [info("x", [2, 3])], [info("y", [2, 3])], {"c": c})
    dumps_agree(path, tmp_path)
    other = save(tmp_path / "o.onnx", [helper.make_node("Mul", ["x", "c"], ["a"]), helper.make_node("Exp", ["a"], ["e"]), helper.make_node("Add", ["e", "d"], ["y"])],
                 [info("x", [2, 3])], [info("y", [2, 3])], {"c": c, "d": c + 1})
    none = f"--quantize={tmp_path / 'none.ranges'}"
    assert digest(path, none) != digest(other, none)


@pytest.mark.parametrize("name", ["nanodet_m_320", "silero_vad", "stories260k_prefill", pytest.param("ppocr_det_en", marks=pytest.mark.slow)])
def test_digest_of_dumps(name, tmp_path):
    if not (MODELS / name).is_dir():
        pytest.skip(f"no {name} in ../shared/models")
    dumps_agree(MODELS / name / "model.onnx", tmp_path, *bindings(MODELS / name))
