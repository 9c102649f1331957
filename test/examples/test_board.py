# SPDX-License-Identifier: MIT
"""docs/arm.md, "For a board": the smallest program built by each cross compiler and run by qemu, and the runner that goes over ssh."""
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
MACHINES = [("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64"), ("aarch64,aarch64-dotprod", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
            ("armv7-neon", "arm-linux-gnueabihf-gcc", "qemu-arm"), ("generic,armv7-neon", "arm-linux-gnueabihf-gcc", "qemu-arm"),
            ("generic", "riscv64-linux-gnu-gcc", "qemu-riscv64")]
pytestmark = pytest.mark.slow


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")


def embed(folder, target, cc, *flags):
    folder.mkdir()
    done = dnncc.run([dnncc.DNNCC, DIGITS, f"--target={target}", "-o", folder / "digits.c"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run([cc, "-O2", *dnncc.STRICT, *flags, f"-I{folder}", dnncc.ROOT / "examples" / "embed" / "main.c", folder / "digits.c", "-o", folder / "embed"])
    assert done.returncode == 0, done.stderr[:3000]
    return folder / "embed"


@pytest.mark.sample(2)
@pytest.mark.parametrize("target, cc, qemu", MACHINES)
def test_embed(target, cc, qemu, tmp_path):
    need(cc, qemu)
    want = dnncc.run([embed(tmp_path / "here", "generic", "cc")]).stdout
    assert want.count("\n") == 10 and dnncc.run([qemu, embed(tmp_path / "there", target, cc, "-static")]).stdout == want


@pytest.fixture
def board(tmp_path, monkeypatch):
    """the script of the page, and an ssh whose board is qemu"""
    need("arm-linux-gnueabihf-gcc", "qemu-arm")
    script = re.search(r"\n    (#!/bin/sh\n(?:    .*\n)+)", (dnncc.ROOT / "docs" / "arm.md").read_text())[1]
    commands = {"on-board": re.sub("^    ", "", script, flags=re.M),
                "ssh": '#!/bin/sh\n[ "$1" = board ] || exit 255\nshift\nexec sh -c "$(printf %s "$*" | sed "s:&& \\./:\\&\\& qemu-arm ./:")"\n'}
    (tmp_path / "bin").mkdir()
    for name, text in commands.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    return f"--runner={tmp_path}/bin/on-board"


@pytest.mark.sample(2)
@pytest.mark.parametrize("option", ["bench", "test", "tune"])
def test_over_ssh(option, board, tmp_path):
    array = np.random.default_rng(1).uniform(0, 1, (1, 1, 8, 8)).astype(np.float32)
    (tmp_path / "set").mkdir()
    result = ReferenceEvaluator(str(DIGITS)).run(None, {onnx.load(DIGITS).graph.input[0].name: array})[0]
    for name, value in (("input_0", array), ("output_0", result)):
        (tmp_path / "set" / f"{name}.pb").write_bytes(onnx.numpy_helper.from_array(value).SerializeToString())
    options = {"bench": ["--bench=1"], "test": ["--test", "set"], "tune": ["--tune", "--schedule=book", "--limit", "tune_seconds=2"]}[option]
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=armv7-neon", *options, "--cc=arm-linux-gnueabihf-gcc -O2 -static", board], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    if option == "bench":
        assert re.search(r"median +[\d.]+ [mu]s", done.stdout)


def test_no_board(board, tmp_path):
    """ssh that does not get there is an error that names the runner"""
    (tmp_path / "bin" / "ssh").write_text("#!/bin/sh\nexit 255\n")
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=armv7-neon", "--bench=1", "--cc=arm-linux-gnueabihf-gcc -O2 -static", board])
    assert done.returncode == dnncc.INTERNAL and "on-board' (--runner) failed, exit code 1" in done.stderr, done.stderr
