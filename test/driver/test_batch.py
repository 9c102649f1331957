# SPDX-License-Identifier: MIT
"""--batch: each line of a list is a command of its own, in as many processes as --jobs says; what they write and say comes in the order of
the lines, and a table at the end."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"


@pytest.fixture
def zoo(tmp_path):
    """a folder with a model under several names, and one that is broken"""
    for name in "abcdef":
        shutil.copy(DIGITS, tmp_path / f"{name}.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    return tmp_path


def batch(folder, text, *options, **keywords):
    (folder / "list.txt").write_text(text)
    return dnncc.run([dnncc.DNNCC, "--batch=list.txt", *options], cwd=folder, **keywords)


def rows(done):
    """line, exit code and command of each row of the table"""
    table = done.stdout[done.stdout.index("  line  exit   seconds"):].splitlines()
    return [(int(m[1]), int(m[2]), m[3]) for m in (re.fullmatch(r" *(\d+) +(\d+) +\d+\.\d\d  (.*)", line) for line in table[1:-1])], table[-1]


LIST = """# the zoo
a.onnx -o a.c
b.onnx --target=x86-64-v3 -MD -o b.c    # and its dependencies

broken.onnx -o broken.c
c.onnx --emit=ir -o -
'd.onnx' -o "d e.c"
e.onnx --threads=2 -o x.c
"""


@pytest.mark.parametrize("jobs", [1, 3, 16])
def test_lines(jobs, zoo):
    done = batch(zoo, LIST, f"--jobs={jobs}")
    table, last = rows(done)
    assert [row[:2] for row in table] == [(2, 0), (3, 0), (5, 3), (6, 0), (7, 0), (8, 0)]
    assert table[4][2] == "d.onnx -o 'd e.c'" and last == "5 of 6 lines done, 1 failed; the first is line 5, exit code 3"
    assert done.returncode == 3
    said = done.stderr.splitlines()
    assert said[0] == "list.txt: line 5: exit code 3: broken.onnx -o broken.c" and said[1].startswith("broken.onnx: error: ") and len(said) == 2
    assert set(os.listdir(zoo)) >= {"a.c", "a.h", "b.c", "b.h", "b.d", "d e.c", "x.c"} and "broken.c" not in os.listdir(zoo)
    # each is what the command alone writes
    for words in (["b.onnx", "--target=x86-64-v3", "-MD", "-o", "b.c"], ["e.onnx", "--threads=2", "-o", "x.c"]):
        out = zoo / words[-1]
        before = out.read_bytes(), out.with_suffix(".h").read_bytes()
        assert dnncc.run([dnncc.DNNCC, *words], cwd=zoo).returncode == 0
        assert before == (out.read_bytes(), out.with_suffix(".h").read_bytes())
    assert done.stdout.startswith(dnncc.run([dnncc.DNNCC, "c.onnx", "--emit=ir", "-o", "-"], cwd=zoo).stdout)


def test_order_of_lines(zoo):
    """what is written and said comes in the order of the lines, though the last are done first"""
    big = "".join(f"{name}.onnx --info\nnone{name}.onnx -o {name}.c\n" for name in "abcdef")
    one, many = (batch(zoo, big, f"--jobs={n}") for n in (1, 6))
    strip = re.compile(r"(?<= )\d+\.\d\d(?=  )")
    assert one.returncode == many.returncode == 2 and one.stderr == many.stderr and strip.sub("", one.stdout) == strip.sub("", many.stdout)
    assert [int(n) for n in re.findall(r"line (\d+): exit", one.stderr)] == [2, 4, 6, 8, 10, 12]


def test_options_in_front(zoo):
    done = batch(zoo, "a.onnx -o a.c\nb.onnx -o b.c --target=generic\n", "--target=x86-64-v3", "--if-changed", "--jobs=2", "--name", "m")
    assert done.returncode == 0
    assert "--target=x86-64-v3" in (zoo / "a.c").read_text() and "--target" not in (zoo / "b.c").read_text().split("*/")[0]
    stamp = (zoo / "a.c").stat().st_mtime_ns
    assert batch(zoo, "a.onnx -o a.c\n", "--target=x86-64-v3", "--name=m", "--if-changed").returncode == 0
    assert (zoo / "a.c").stat().st_mtime_ns == stamp


def test_json(zoo):
    done = batch(zoo, "a.onnx -o a.c\nbroken.onnx -o b.c\n", "--error-format=json", "--jobs=2")
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1 and '"file": "broken.onnx"' in done.stderr


@pytest.mark.parametrize("text, said", [
    ("a.onnx --tagret=native\n", "line 1: column 8: unknown option '--tagret=native', did you mean '--target'?"),
    ("a.onnx\n# no\n   --what a.onnx\n", "line 3: column 4: unknown option '--what': see --help"),
    ("a.onnx --threads\n", "line 1: column 8: --threads wants N"),
    ("a.onnx --threads many -o a.c\n", "line 1: column 8: --threads wants a number from 1 to 256, not 'many'"),
    ("a.onnx -o 'a.c\nb.onnx\n", "line 1: column 11: a quote is not closed"),
    ("--target=generic\n", "line 1: column 1: no model given"),
    ("a.onnx\n- -o b.c\n", "line 2: column 1: a line of a list cannot read standard input"),
    ("a.onnx --batch=b\n", "line 1: column 8: --batch and --jobs are for the command that reads the list, not for a line of it"),
    ("a.onnx -o a.c\nb.onnx -oa.c\n", "line 2: column 8: line 1 writes a.c, too"),
    ("a.onnx \0\n", "line 1: column 8: a list is a text, and this is a NUL"),
])
def test_bad_lines(text, said, zoo):
    """nothing runs where a line cannot"""
    done = batch(zoo, "f.onnx -o never.c\n" + text)
    expected = re.sub(r"line (\d+)", lambda m: f"line {int(m[1]) + 1}", said)
    assert done.returncode == 1 and done.stderr == f"list.txt: error: {expected}\n" and not done.stdout
    assert not (zoo / "never.c").exists()


def test_command_lines(zoo):
    def says(code, text, *words, **keywords):
        done = dnncc.run([dnncc.DNNCC, *words], cwd=zoo, **keywords)
        assert done.returncode == code and text in done.stderr, done
        return done
    says(2, "none.txt: error: cannot read none.txt: No such file", "--batch=none.txt")
    (zoo / "l").write_text("\n# nothing\n")
    assert says(0, "", "--batch", "l").stdout.endswith("0 of 0 lines done\n")
    says(1, "--batch wants models and outputs in the lines of l: a.onnx stands outside of them", "--batch=l", "a.onnx")
    says(1, "--batch wants models and outputs in the lines of l: -o stands outside of them", "--batch=l", "-o", "x.c")
    says(1, "--jobs wants --batch=FILE or --calibrate=PATH", "a.onnx", "--jobs=2", "-o", "a.c")
    with open(zoo / "l", "w") as out:
        out.write("a.onnx -o from_stdin.c")           # the last line does not end
    with open(zoo / "l") as stdin:
        says(0, "", "--batch=-", stdin=stdin)
    assert (zoo / "from_stdin.c").exists()


@pytest.mark.skipif(not pathlib.Path("/proc/self/task").exists(), reason="looks into /proc")
def test_a_command_that_dies(zoo):
    """is a line that failed: others are done"""
    killer = zoo / "cc"       # ends dnncc, whose child is the shell that runs this
    killer.write_text("#!/bin/sh\nkill -9 $(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat)\n")
    killer.chmod(0o755)
    done = batch(zoo, f"a.onnx -o a.c\nb.onnx --bench=1 --cc={killer}\nc.onnx -o c.c\n", "--jobs=2",
                 env={**os.environ, "TMPDIR": str(zoo)})
    assert done.returncode == 70 and (zoo / "a.c").exists() and (zoo / "c.c").exists()
    assert "dnncc: error: this command was ended by signal 9\n" in done.stderr
    assert rows(done)[1] == "2 of 3 lines done, 1 failed; the first is line 2, exit code 70"


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not pathlib.Path("/proc/self/task").exists(), reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted(number, zoo):
    """all processes end within five seconds, and leave no file behind; what nobody can catch leaves the folder of what was compiled"""
    (zoo / "tmp").mkdir()
    compiler = zoo / "cc"
    compiler.write_text("#!/bin/sh\nexec sleep 60\n")
    compiler.chmod(0o755)
    text = "".join(f"{name}.onnx --bench=1 --cc=./../../cc\n" for name in "abcd")
    (zoo / "list.txt").write_text(text.replace("./../../cc", str(compiler)))
    with subprocess.Popen([dnncc.DNNCC, "--batch=list.txt", "--jobs=3"], cwd=zoo, env={**os.environ, "TMPDIR": str(zoo / "tmp")},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        for _ in range(400):
            found = descendants(run.pid)
            if sum("sleep" in pathlib.Path(f"/proc/{pid}/cmdline").read_text() for pid in found if is_alive(pid)) == 3:
                break
            time.sleep(.05)
        assert len(found) >= 9
        start = time.monotonic()
        run.send_signal(number)
        run.wait(10)
        while any(is_alive(pid) for pid in found) and time.monotonic() < start + 10:
            time.sleep(.05)
        assert time.monotonic() - start < 5 and run.returncode == -number
    assert os.listdir(zoo / "tmp") == []
