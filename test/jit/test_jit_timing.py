# SPDX-License-Identifier: MIT
"""--bench and --tune by --jit: numbers of the same kind as with a C compiler, and the same files."""
import json
import os
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest

for folder in ("support", "driver"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / folder))
import dnncc  # noqa: E402
import test_timing  # noqa: E402

MODELS = dnncc.ROOT.parent / "shared" / "models"
DIGITS = test_timing.DIGITS
TARGET = "--target=x86-64"


def missing():
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--run=zeros", "--jit"])
    return done.stderr if done.returncode == dnncc.UNSUPPORTED else None


pytestmark = pytest.mark.skipif(missing() is not None, reason=f"LLVM is missing: {missing()}")


def run(model, *options, **keywords):
    return dnncc.run([dnncc.DNNCC, model, *options], timeout=180, **keywords)


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", ["test_whole", "test_kernels", "test_loops", "test_report", "test_inputs", "test_inputs_that_choose"])
def test_what_holds_for_a_c_compiler(name, tmp_path, monkeypatch):
    """holds for LLVM"""
    bench = test_timing.bench
    monkeypatch.setattr(test_timing, "bench", lambda *arguments, **keywords: bench(*arguments, "--jit", **keywords))
    getattr(test_timing, name)(tmp_path)


@pytest.mark.long
@pytest.mark.slow
def test_the_peak_is_that_of_c():
    """multiply-adds take what they take, whoever compiles them; the best of a few, since the machine does more than this"""
    def best(*options):
        return max(float(re.search(r"([\d.]+) that multiply-adds do", test_timing.bench("--bench=1", *options, model=model).stdout)[1]) for _ in range(4))
    model = MODELS / "resnet8_fp32" / "model.onnx"
    if not model.exists():
        pytest.skip("no model here")
    assert best("--jit") == pytest.approx(best(), rel=0.25)


@pytest.mark.sample(2)
@pytest.mark.parametrize("threads", [1, 2])
def test_trace(threads, tmp_path):
    trace, report = tmp_path / "t.json", tmp_path / "r.json"
    model = MODELS / "resnet8_fp32" / "model.onnx"
    if not model.exists():
        pytest.skip("no model here")
    done = run(model, TARGET, "--jit", "--bench=1", f"--profile={trace}", f"--report={report}", f"--threads={threads}")
    assert done.returncode == 0, done.stderr
    events = json.loads(trace.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    calls = [call["kernel"] for call in json.loads(report.read_text())["calls"]]
    slices = [event["name"] for event in events if event.get("ph") == "X" and event["tid"] < 1000]
    assert slices[:len(calls)] == calls and set(slices) == set(calls)
    assert threads == 1 or any(event.get("ph") == "X" and event["tid"] >= 1000 for event in events), "shares of the pool's threads"
    assert {path.name for path in tmp_path.iterdir()} == {"t.json", "r.json"}


def two_entries(folder):
    """two sizes of one model, whose calls are numbered one after the other"""
    random = np.random.default_rng(0)
    weights = [onnx.numpy_helper.from_array(random.standard_normal((64, 64), np.float32), name) for name in "uv"]
    nodes = [onnx.helper.make_node("MatMul", ["x", "u"], ["h"]), onnx.helper.make_node("Softmax", ["h"], ["s"]),
             onnx.helper.make_node("MatMul", ["s", "v"], ["y"])]
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 64]) for name in "xy"]
    path = folder / "m.onnx"
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "m", ports[:1], ports[1:], weights), opset_imports=[onnx.helper.make_opsetid("", 17)],
                                     ir_version=8), path)
    return path, ["--entry=small:N=1", "--entry=large:N=96"]


def test_entries_have_their_own_calls(tmp_path):
    model, entries = two_entries(tmp_path)
    report = tmp_path / "r.json"
    done = run(model, TARGET, "--jit", "--bench=kernels,1", f"--report={report}", *entries)
    assert done.returncode == 0, done.stderr
    tables = re.split(r"^bench: ", done.stdout, flags=re.M)[1:]
    assert ["small", "large"] == [re.search(r"entry (\w+)", table)[1] for table in tables]
    calls = json.loads(report.read_text())["calls"]
    for table in tables:
        times = re.findall(r"^ *[\d.]+% +([\d.]+) +[\d.]+ +[\d.]+ +\d+ ", table, re.M)
        assert times and all(float(time) > 0 for time in times), table
    assert len(calls) == len(re.findall(r"^ *[\d.]+% +[\d.]+ +[\d.]+ +[\d.]+ +\d+ ", done.stdout, re.M)) > 2
    assert all(call["seconds"] > 0 for call in calls)


def test_state(tmp_path):
    """runs go on from what the last one left, and end with no code"""
    kinds = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 8]) for name in ("x", "past", "y", "next")]
    nodes = [onnx.helper.make_node("Add", ["x", "past"], ["next"]), onnx.helper.make_node("Relu", ["next"], ["y"])]
    model = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "m", kinds[:2], kinds[2:]), opset_imports=[onnx.helper.make_opsetid("", 17)],
                                     ir_version=8), model)
    done = run(model, TARGET, "--jit", "--bench=kernels,1", "--state=past=next")
    assert done.returncode == 0 and re.search(r"^state +\d+ bytes$", done.stdout, re.M), done.stderr


# ---- schedules ----

def kinds_of(book):
    return [line.split(": ")[0] for line in book.read_text().splitlines() if line and line[0] != ";"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("threads", [1, 2])
def test_tuning(threads, tmp_path):
    """writes the file that a C compiler's would be, but for what was found; no process is started for it"""
    model, ours, theirs = MODELS / "resnet8_fp32" / "model.onnx", tmp_path / "jit", tmp_path / "c"
    if not model.exists():
        pytest.skip("no model here")
    options = [TARGET, f"--threads={threads}", "--tune"]
    assert run(model, *options, f"--schedule={theirs}", "--limit", "tune_seconds=0").returncode == 0
    assert run(model, *options, f"--schedule={ours}", "--limit", "tune_seconds=0", "--jit").returncode == 0
    assert ours.read_bytes() == theirs.read_bytes()
    done = run(model, *options, f"--schedule={ours}", "--limit", "tune_seconds=6", "--jit=fast", env=no_compiler(tmp_path))
    assert done.returncode == 0 and re.match(r"tune: (nothing was gained|\d+ of \d+ kinds)", done.stderr), done.stderr
    assert kinds_of(ours) == kinds_of(theirs)
    said = re.search(r"(\d+) of \d+ kinds of kernels are faster", done.stderr)
    assert len(re.findall(r"    ; 0\.\d+ of the time of ", ours.read_text())) == (int(said[1]) if said else 0)
    assert run(model, TARGET, f"--threads={threads}", f"--schedule={ours}", "--run=zeros").returncode == 0


def test_tuning_of_entries(tmp_path):
    model, entries = two_entries(tmp_path)
    done = run(model, TARGET, "--tune", f"--schedule={tmp_path / 'book'}", "--limit", "tune_seconds=6", "--jit", *entries)
    assert done.returncode == 0, done.stderr
    assert len(kinds_of(tmp_path / "book")) > 1


# ---- where there is no C compiler ----

def no_compiler(folder):
    """an environment in which no program is found but what a shell wants"""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("sh", "rm", "env"):
        if not (tools / name).exists():
            (tools / name).symlink_to(shutil.which(name))
    return {**os.environ, "PATH": str(tools)}


def test_without_a_c_compiler(tmp_path):
    """LLVM is taken without being told; --cc is what it was"""
    env = no_compiler(tmp_path)
    done = run(DIGITS, TARGET, "--bench=kernels,1", env=env)
    assert done.returncode == 0 and "kernel calls" in done.stdout, done.stderr
    done = run(DIGITS, TARGET, "--tune", f"--schedule={tmp_path / 'book'}", "--limit", "tune_seconds=3", env=env)
    assert done.returncode == 0 and (tmp_path / "book").exists(), done.stderr
    assert run(DIGITS, TARGET, "--bench=1", "--cc=cc -O2", env=env).returncode == dnncc.IO
