# SPDX-License-Identifier: MIT
"""--calibrate in many processes writes the file that one writes, byte for byte, and says what one says."""
import os
import pathlib
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    numbers = np.random.default_rng(5)
    for k in range(3):                  # of very different sizes, so that histograms have other steps
        np.savez(folder / f"x{k}.npz", image=(10.0 ** k * numbers.normal(size=(7, 1, 1, 8, 8))).astype(np.float32))
    return folder


def calibrate(folder, samples, *options, **keywords):
    return dnncc.run([dnncc.DNNCC, DIGITS, f"--calibrate={samples}", "-o", folder / "out.ranges", *options], **keywords)


def said(done):
    """without how far it was, which slow machines say"""
    return [line for line in done.stderr.splitlines() if not line.startswith("calibrate: ")]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--channels=last"], ["--channels=second", "--samples=5"], ["--jit=fast"], ["--exact"]])
def test_same_file(options, samples, tmp_path):
    done = calibrate(tmp_path, samples, "-MD", *options)
    if "LLVM" in done.stderr:
        pytest.skip("no LLVM")
    files = [(tmp_path / name).read_bytes() for name in ("out.ranges", "out.d")]
    for jobs in (2, 40 if "--samples=5" in options else 3):               # 40: more than samples
        (tmp_path / "out.ranges").unlink()
        done = calibrate(tmp_path, samples, "-MD", f"--jobs={jobs}", *options)
        assert done.returncode == 0 and not said(done)
        assert files == [(tmp_path / name).read_bytes() for name in ("out.ranges", "out.d")]


@pytest.mark.slow
def test_wrong_samples(samples, tmp_path):
    """of two that are wrong the first one is named, whichever was seen first; nothing is written"""
    for k in range(3):
        x = dict(np.load(samples / f"x{k}.npz"))
        if k:
            x["image"][3 if k == 1 else 0, 0, 0, 1, k] = np.nan if k == 1 else np.inf
        np.savez(tmp_path / f"x{k}.npz", **x)
    for form in ([], ["--error-format=json"]):
        one, many = (calibrate(tmp_path, tmp_path, f"--jobs={n}", *form) for n in (1, 3))
        assert one.returncode == many.returncode == 3 and said(one) == said(many) and "x1.npz:3" in one.stderr and "NaN" in one.stderr
    assert not (tmp_path / "out.ranges").exists()


@pytest.mark.slow
def test_no_compiler(samples, tmp_path):
    """says what one process says"""
    one, many = (calibrate(tmp_path, samples, "--cc=false", f"--jobs={n}") for n in (1, 2))
    assert one.returncode == many.returncode == 2 and said(one) == said(many) != []


@pytest.mark.slow
def test_compiled_once(samples, tmp_path):
    """for all processes of this machine"""
    counter = tmp_path / "cc"
    counter.write_text(f"#!/bin/sh\necho >> {tmp_path}/count\nexec cc \"$@\"\n")
    counter.chmod(0o755)
    assert calibrate(tmp_path, samples, "--jobs=3", f"--cc={counter}").returncode == 0
    assert len((tmp_path / "count").read_text()) == 1


@pytest.mark.slow
@pytest.mark.skipif(not pathlib.Path("/proc/self/task").exists(), reason="looks into /proc")
def test_lost_worker(samples, tmp_path):
    """a worker that is killed while it measures costs its piece alone"""
    killer = tmp_path / "run"           # the first one ends the worker that started it
    killer.write_text(f"#!/bin/sh\nmkdir {tmp_path}/first 2>/dev/null && kill -9 $PPID\nexec \"$@\"\n")
    killer.chmod(0o755)
    assert calibrate(tmp_path, samples, "--runner=env").returncode == 0
    file = (tmp_path / "out.ranges").read_bytes()
    (tmp_path / "tmp").mkdir()
    done = calibrate(tmp_path, samples, "--jobs=2", f"--runner={killer}", env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
    assert done.returncode == 0 and file == (tmp_path / "out.ranges").read_bytes()
    assert len(re.findall(r"warning: worker \d \(.*\) was lost: its piece, number \d, is made by another", done.stderr)) == 1
    assert os.listdir(tmp_path / "tmp") == []


@pytest.mark.slow
def test_interrupted(samples, tmp_path):
    """leaves nothing"""
    sleeper = tmp_path / "cc"
    sleeper.write_text(f"#!/bin/sh\necho >> {tmp_path}/started\nexec sleep 60\n")
    sleeper.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "started").write_text("")
    with subprocess.Popen([dnncc.DNNCC, DIGITS, f"--calibrate={samples}", "-o", "out.ranges", "--jobs=3", f"--cc={sleeper}"], cwd=tmp_path,
                          env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}, stderr=subprocess.PIPE) as run:
        while not (tmp_path / "started").read_text() and run.poll() is None:
            pass
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=5)
    assert run.returncode == -signal.SIGINT and os.listdir(tmp_path / "tmp") == []
    assert sorted(os.listdir(tmp_path)) == ["cc", "started", "tmp"]
