# SPDX-License-Identifier: MIT
"""examples/vta: built by Make and by CMake, and what it prints is what its page says."""
import re

import pytest

import gallery
from gallery import ROOT, dnncc, run

EXAMPLE = ROOT / "examples" / "vta"
pytestmark = pytest.mark.slow


def made(tmp_path, *options):
    done = dnncc.run(["make", "-C", EXAMPLE, f"OUT={tmp_path}", *options], timeout=300)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stdout + done.stderr
    return tmp_path / "vta"


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_digits(cc, tmp_path):
    """by Make, what is generated under sanitizers, too"""
    said = run(made(tmp_path, f"CC={cc}", f"CFLAGS={gallery.SANITIZE}"))
    right, count, cycles = map(int, re.match(r"(\d+) of (\d+) digits are right\n(\d+) cycles a digit; program \d+ bytes, workspace \d+\n", said).groups())
    assert count == 60 and right >= 57 and cycles < 6000
    page = (EXAMPLE / "README.md").read_text()
    assert all(f"    {line}\n" in page for line in said.splitlines()) and "**Model**" in page
    assert len((EXAMPLE / "main.c").read_text().splitlines()) <= 120


def test_other_machine(tmp_path):
    """instructions for one machine on another one: a code and a message, nothing else"""
    folder = tmp_path / "examples" / "vta"
    dnncc.shutil.copytree(EXAMPLE, folder)
    dnncc.shutil.copytree(EXAMPLE.parent / "digits", tmp_path / "examples" / "digits")
    text = (folder / "main.c").read_text()
    (folder / "main.c").write_text(text.replace("dnncc_vta_new(NULL,", 'dnncc_vta_new("wgt=32K,acc=32K",'))
    done = dnncc.run(["make", "-C", folder, f"OUT={tmp_path}", f"DNNCC={gallery.ROOT / 'build' / 'dnncc'}", f"INCLUDE={ROOT / 'runtime' / 'dnncc_vta.h'}",
                      f"CFLAGS={gallery.SANITIZE}"], timeout=300)
    assert done.returncode == 0, done.stderr
    done = dnncc.run([tmp_path / "vta"])
    assert done.returncode == 2 and not done.stdout and re.match(r"vta: code -16, see net.h: vta: error: ", done.stderr), done.stderr


ON_UNIFIED = [("dnncc_vta_new(NULL, MEMORY)", "dnncc_unified_new(16 * MEMORY)"), ("dnncc_vta", "dnncc_unified"), ("../digits/samples.h", "samples.h")]


def on_unified(folder, *changes):
    """the example's program for a machine with a unified buffer, with further changes"""
    text = (EXAMPLE / "main.c").read_text()
    for old, new in (*ON_UNIFIED, *changes):
        assert old in text
        text = text.replace(old, new)
    (folder / "main.c").write_text(text)
    done = dnncc.run([dnncc.DNNCC, EXAMPLE / "digits_int8.onnx", "-q", "--target=unified", "--name=net", "-o", folder / "net.c"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run(["gcc", "-std=c99", "-Wall", "-Wextra", *gallery.SANITIZE.split(), f"-I{folder}", f"-I{ROOT / 'runtime'}", f"-I{EXAMPLE.parent / 'digits'}",
                      folder / "main.c", folder / "net.c", ROOT / "build" / "libdnncc_unified.a", "-o", folder / "main"])
    assert done.returncode == 0, done.stderr
    return dnncc.run([folder / "main"])


def test_a_unified_buffer(tmp_path):
    """its device is a library, too: the same digits; what a program without its instructions ends with"""
    done = on_unified(tmp_path)
    right, cycles = map(int, re.match(r"(\d+) of 60 digits are right\n(\d+) cycles a digit; program \d+ bytes", done.stdout).groups())
    assert done.returncode == 0 and right >= 57 and 10000 < cycles < 25000 and not done.stderr, done.stdout + done.stderr
    done = on_unified(tmp_path, ("return net_prepare(n->workspace, n->program, n->device);",
                                 "int code = net_prepare(n->workspace, n->program, n->device);\n"
                                 "        for (unsigned i = 64; i < NET_PROGRAM_SIZE; i++)\n"
                                 "                ((unsigned char *)n->program)[i] = 0xff;\n"
                                 "        return code;"))
    assert done.returncode == 2 and not done.stdout and re.match(r"vta: code -\d+, see net.h: unified: error: instruction \d+ cannot run: ", done.stderr), done.stderr
    done = on_unified(tmp_path, ("16 * MEMORY", "4096"))
    assert done.returncode == 2 and re.fullmatch(r"vta: code -1, see net.h: \n", done.stderr), done.stderr


def test_cmake(tmp_path):
    if not dnncc.shutil.which("cmake"):
        pytest.skip("no cmake")
    run("cmake", "-S", ROOT / "examples", "-B", tmp_path / "cmake", f"-DMODELS={tmp_path}", f"-DDNNCC={dnncc.DNNCC}")
    run("cmake", "--build", tmp_path / "cmake", "--target", "vta", timeout=120)
    assert run(tmp_path / "cmake" / "vta") == run(made(tmp_path))


def test_copy(tmp_path):
    """what is installed: the library and its header are found beside dnncc"""
    done = dnncc.run(["make", "-C", ROOT, "install", f"PREFIX={tmp_path / 'usr'}"], timeout=300)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "usr" / "share" / "dnncc" / "examples" / "vta"
    done = dnncc.run(["make", "-C", folder, f"DNNCC={tmp_path / 'usr' / 'bin' / 'dnncc'}", f"OUT={tmp_path / 'out'}"], timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "digits are right" in run(tmp_path / "out" / "vta")
