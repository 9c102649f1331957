# SPDX-License-Identifier: MIT
"""How far something has come: a line on a terminal, plain lines elsewhere."""
import fcntl
import os
import pathlib
import re
import struct
import subprocess
import sys
import termios

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import terminal  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"

# a compiler whose programs take 2, and GAIN with other schedules
TIMES = """name=$3
{ echo '#!/bin/sh'; [ $name = first ] && t=2 || t=GAIN; for i in 15 1 0.00$t 1 0; do echo "echo $i"; done
  for i in $(seq $(grep -c '^    {"kernel"' $name.json)); do echo "echo $t"; done; } > $name
chmod +x $name
"""
CLEAR = "\r\x1b[K"
LEFT = r"(\d+ h \d+ min|\d+ min \d+ s|\d+ s) left"


def on_terminal(columns, *arguments, **variables):
    """exit code, and what a terminal of that width is sent"""
    ours, theirs = terminal.pair()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([dnncc.DNNCC, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=theirs,
                          env={**os.environ, "TERM": "xterm", **variables}) as process:
        os.close(theirs)
        sent = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                part = b""
            if not part:
                break
            sent += part
    os.close(ours)
    return process.returncode, sent.decode().replace("\r\n", "\n")


@pytest.mark.sample(2)
@pytest.mark.parametrize("columns", [100, 24])
def test_line_on_a_terminal(columns):
    """written anew in place, no wider than the terminal, gone at the end"""
    code, sent = on_terminal(columns, DIGITS, "--bench=3")
    lines = sent.split(CLEAR)
    assert code == 0 and len(lines) > 6 and "\n" not in sent and sent.endswith(CLEAR), sent
    assert all(len(line) < columns for line in lines)
    if columns == 100:
        assert any(re.fullmatch(f"bench: running for 3 s, {LEFT}", line) for line in lines), lines
        left = [int(re.search(r"(\d+) s left", line)[1]) for line in lines if "left" in line]
        assert left == sorted(left, reverse=True) and left[-1] <= 1, left


def test_nothing_on_a_terminal(tmp_path):
    """what is soon done, what is to be quiet, and a terminal that cannot"""
    assert on_terminal(80, DIGITS, "--check", "--target=generic", "-q", "-o", tmp_path / "m.c")[1].count(CLEAR) == 0
    assert on_terminal(80, DIGITS, "--bench=2", "-q") == (0, "")
    assert on_terminal(80, DIGITS, "--bench=2", TERM="dumb") == (0, "")


def test_messages_have_the_line_to_themselves(tmp_path):
    """what is said meanwhile begins where the line was"""
    code, sent = on_terminal(80, DIGITS, "--check", "--passes=simplify,fold,dce,layout,lower,plan", "--limit", "check_steps=1000",
                             "-o", tmp_path / "m.c", "--cc=sleep 0.4; cc -O0")
    assert code == 0 and re.search(r"check: pass \d+ of \d+, \w+", sent), sent
    for line in sent.split("\n")[:-1]:
        assert re.fullmatch("check: [^:]*: .*|check: compiled for.*", line.split(CLEAR)[-1]), line


@pytest.mark.parametrize("arguments, wanted", [
    (["--test", "set", "--cc=sleep 2; cc -O1"], "test: set 1 of 1, set"),
    (["--calibrate=set", "-o", "m.ranges", "--cc=sleep 2; cc -O1"], r"calibrate: compiling \d+ tensors, 1 samples"),
    (["--tune", "--schedule=book", "--target=x86-64", "--cc=sleep 0.3; sh cc.sh"],
     rf"tune: \d+ of \d+ moves, \d+ kept, \d\.\d\d\d of the time, {LEFT}")], ids=["test", "calibrate", "tune"])
def test_what_is_said(arguments, wanted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = [argument.replace("cc.sh", f"{tmp_path}/cc.sh") for argument in arguments]
    (tmp_path / "cc.sh").write_text(TIMES.replace("GAIN", "2"))
    (tmp_path / "set").mkdir()
    array = np.zeros((1, 1, 8, 8), np.float32)
    (tmp_path / "set" / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
    _, sent = on_terminal(100, DIGITS, *arguments)
    assert any(re.fullmatch(wanted, line) for line in sent.split(CLEAR)), sent


@pytest.mark.slow
def test_plain_lines(tmp_path):
    """every ten seconds; how many there are depends on what else the machine does"""
    done = subprocess.run([dnncc.DNNCC, DIGITS, "--bench=14"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and re.fullmatch("(bench: [^\r\n]*14 s[^\r\n]*\n)+", done.stderr), done.stderr


@pytest.mark.long
def test_plain_lines_that_differ(tmp_path):
    """a compiler that takes half a minute is spoken of once"""
    (tmp_path / "cc.sh").write_text('sleep 25\nexec cc -O1 "$@"\n')
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--bench=1", f"--cc=sh {tmp_path}/cc.sh"], cwd=tmp_path)
    assert done.returncode == 0 and re.fullmatch(r"bench: compiling the code, then 1 s\n(bench: running for 1 s.*\n)?", done.stderr), done.stderr


def test_last_line_of_tuning(tmp_path):
    """the whole model before and after, or that nothing was gained; what was dropped is not counted. Lines of progress may stand before"""
    for gain, wanted in (("1", r"tune: (\d+) of \1 kinds of kernels are faster by book: the whole model took 2\.000 ms before and takes 1\.000 ms "
                          r"after, 0\.500 of the time\n"),
                         ("2", r"tune: nothing was gained: no schedule that was tried is faster than the first ones, which book lists\n")):
        (tmp_path / "cc.sh").write_text(TIMES.replace("GAIN", gain))
        done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=x86-64", "--tune", "--schedule=book", f"--cc=sh {tmp_path}/cc.sh"], cwd=tmp_path)
        assert done.returncode == 0 and re.fullmatch(rf"(?:tune: .* left\n)*{wanted}", done.stderr), done.stderr
        assert ("of the time of" in (tmp_path / "book").read_text()) == (gain == "1")


def test_tuning_tells_once(tmp_path):
    """what is asked for beside --tune is not asked of each program that is tried"""
    model = ["--target=x86-64", "-o", tmp_path / "m.c"]
    plain = dnncc.run([dnncc.DNNCC, DIGITS, *model, "--remarks"])
    (tmp_path / "cc.sh").write_text(TIMES.replace("GAIN", "2"))
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=x86-64", "--tune", "--schedule=book", f"--cc=sh {tmp_path}/cc.sh", "--remarks"],
                     cwd=tmp_path)
    assert done.returncode == 0 and 0 < done.stderr.count("one kernel") <= plain.stderr.count("one kernel"), done.stderr
