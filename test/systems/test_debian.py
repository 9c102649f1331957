# SPDX-License-Identifier: MIT
"""A Debian that has nothing but what README.md names, and a person with only the README: each of its three ways in, text for text.

Where debootstrap is, and may make a system (root): support/debian.py."""
import pathlib
import re
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import debian as system  # noqa: E402
import dnncc  # noqa: E402
from debian import run  # noqa: E402

ROOT = dnncc.ROOT
README = (ROOT / "README.md").read_text()
# what the README says the compiler needs, "make, a C compiler, protobuf-c, protoc-c and zlib", in Debian's words; and who uses Python and CMake has these
PACKAGES = ["gcc", "libc6-dev", "make", "libprotobuf-c-dev", "protobuf-c-compiler", "zlib1g-dev"]
WAYS = ["cmake", "python3", "python3-venv"]
pytestmark = [pytest.mark.long, pytest.mark.skipif(not system.can_make(), reason="no debootstrap, or no right to use it")]


def block(after):
    """the indented text behind a line of the README, as a reader copies it"""
    text = README[README.index(after):].partition("\n\n")[2]
    kept = []
    for line in text.split("\n"):
        if line and not line.startswith("    "):
            break
        kept.append(line[4:])
    return "\n".join(kept).strip("\n") + "\n"


@pytest.fixture(scope="module")
def debian(tmp_path_factory):
    """run(command, folder): in a shell of that system, as a reader types it; the system has a copy of what is committed or about to be, and of nothing that is built"""
    top = tmp_path_factory.mktemp("debian")
    system.make(top, "debian", PACKAGES + WAYS)
    system.copy_sources(top / "root" / "dnncc")
    (top / "root" / "work").mkdir()
    shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", top / "root" / "work")

    def shell(command, folder="/root/work"):
        return run(*system.command(top, command, folder), env=system.environment())
    shell.top = top
    # -O0: the same program, in a fourth of the time
    shell("make -j2 CFLAGS=-O0 install", "/root/dnncc")
    return shell


def test_from_c(debian):
    """the first result in three commands"""
    text = block("From C:\n")
    commands, main = text.partition("\n\n")[0].splitlines(), text.partition("\n\n")[2]
    assert len(commands) == 2 and all(c.startswith("$ ") for c in commands) and main.startswith("/* main.c */\n")
    (debian.top / "root" / "work" / "main.c").write_text(main)
    for command in commands:
        debian(command[2:])
    assert re.fullmatch(r"0: [\d.e-]+\n", debian("./example"))


def test_from_cmake(debian):
    folder = debian.top / "root" / "work" / "cmake"
    folder.mkdir()
    (folder / "main.c").write_text(block("From C:\n").partition("\n\n")[2])
    shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", folder)
    (folder / "CMakeLists.txt").write_text(block("From CMake"))
    assert re.fullmatch(r"0: [\d.e-]+\n", debian("cmake -S . -B build >cmake.log && cmake --build build >>cmake.log && build/example", "/root/work/cmake"))


def test_from_python(debian):
    """in a virtual environment with numpy alone, by a wheel that was made here"""
    run("make", "--no-print-directory", "-C", ROOT, "wheel")
    wheel, = (ROOT / "build" / "dist").glob("*.whl")
    numpy = re.search(r"numpy==(\S+)", (ROOT / "Makefile").read_text())[0]
    folder = debian.top / "root" / "wheels"
    folder.mkdir()
    shutil.copy(wheel, folder)
    run(ROOT / "build" / "venv" / "bin" / "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d", folder, numpy)
    debian("python3 -m venv /root/venv && /root/venv/bin/pip install -q --disable-pip-version-check --no-index --find-links /root/wheels dnncc numpy")
    lines = block("From Python (`make wheel`")
    assert len(lines.splitlines()) == 3
    (debian.top / "root" / "work" / "three.py").write_text(f"import numpy\nimage = numpy.ones((1, 1, 8, 8), numpy.float32)\n{lines}\nprint(probabilities.shape, probabilities.sum())\n")
    said = debian("/root/venv/bin/python three.py")
    assert said.startswith("(1, 10) ") and abs(float(said.split()[2]) - 1) < 1e-5


def test_uninstall(debian):
    """nothing of ours stays under the prefix"""
    debian("make CFLAGS=-O0 uninstall", "/root/dnncc")
    left = [p for p in (debian.top / "usr" / "local").rglob("*") if "dnncc" in p.name]
    assert not left, left
