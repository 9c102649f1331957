# SPDX-License-Identifier: MIT
"""examples/firmware: from f32 to code for a microcontroller, by the commands of its page; run where there is an emulator of the board."""
import re
import shutil

import pytest

import gallery  # noqa: F401  (puts test/support on the path)
from gallery import ROOT, dnncc

PAGE = ROOT / "examples" / "firmware" / "README.md"
KINDS = {"f32": 5, "bytes": 6, "integer": 6, "core": 8}        # and how many kernels they have
CC = "arm-none-eabi-gcc"
QEMU = ["qemu-system-arm", "-M", "mps2-an385", "-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native"]


def rows():
    """{kind: (right, workspace, constants)} of the page's table"""
    found = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+) \| (\d+) \| [\d.]+ KB \|", PAGE.read_text(), re.M)
    return dict(zip(KINDS, (tuple(map(int, row)) for row in found), strict=True))


def make(*arguments):
    return dnncc.run(["make", "-s", "-C", PAGE.parent, f"DNNCC={dnncc.DNNCC}", *arguments], timeout=600)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
def test_code(kind, tmp_path):
    """the C of the page's commands: workspace as the table has it, and without floats but at its ends"""
    done = make(f"OUT={tmp_path}", f"KIND={kind}", f"{tmp_path}/{kind}/digits.c")
    assert done.returncode == 0, done.stderr
    header, text = ((tmp_path / kind / f"digits.{end}").read_text() for end in "hc")
    assert int(re.search(r"DIGITS_WORKSPACE_SIZE (\d+)", header)[1]) == rows()[kind][1]
    kernels = re.findall(r"\nstatic KERNEL void (\w+)\((.*?)\n}\n", text, re.S)
    floats = [name for name, body in kernels if re.search(r"\b(f32|float)\b", body)]
    assert len(kernels) == KINDS[kind] and (len(floats) == 5 if kind == "f32" else set(floats) <= {kernels[i][0] for i in (0, -2, -1)}), floats


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", KINDS)
def test_firmware(kind, tmp_path):
    if not shutil.which(CC):
        pytest.skip(f"no {CC}")
    done = make(f"OUT={tmp_path}", f"KIND={kind}")
    assert done.returncode == 0 and "warning:" not in done.stderr.replace("warning: requantize_integer", ""), done.stderr
    folder = tmp_path / kind
    assert dnncc.run([CC, "-mcpu=cortex-m3", "-mthumb", "-std=c99", "-O2", "-c", folder / "digits.c", "-o", folder / "net.o"]).returncode == 0
    sizes = {name: int(size) for name, size in re.findall(r"^(\.\S+)\s+(\d+)", dnncc.run(["arm-none-eabi-size", "-A", folder / "net.o"]).stdout, re.M)}
    assert sizes[".data"] == sizes[".bss"] == 0 and sizes[".rodata"] == rows()[kind][2] and sizes[".text"] < 4096, sizes
    if not shutil.which(QEMU[0]):
        pytest.skip(f"no {QEMU[0]}: built, but not run")
    done = dnncc.run([*QEMU, "-kernel", folder / "digits.elf"], timeout=120)
    assert done.returncode == 0 and f"{rows()[kind][0]} of 60 digits are right" in done.stdout + done.stderr


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m4"])
def test_cmake(cpu, tmp_path):
    """the page docs/boards.md: the same program by CMake, whose toolchain file and model are for the core"""
    for tool in (CC, "cmake", *QEMU[:1]):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    assert make(f"OUT={tmp_path}", f"{tmp_path}/digits.ranges").returncode == 0
    assert dnncc.run(["make", "-s", "-C", ROOT, "install", f"PREFIX={tmp_path / 'prefix'}"], timeout=600).returncode == 0
    commands = re.findall(r"^    cmake (-.*)$", (ROOT / "docs" / "boards.md").read_text(), re.M)
    assert len(commands) == 2
    more = [f"-DCPU={cpu}", f"-DRANGES={tmp_path}/digits.ranges", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}"]
    for command, options in zip(commands, (more, [])):
        words = [str(tmp_path / "built") if word == "build/firmware" else word for word in command.split()]
        done = dnncc.run(["cmake", *words, *options], cwd=ROOT, timeout=600)
        assert done.returncode == 0 and "warning" not in done.stderr.replace("warning: requantize_integer", ""), done.stdout + done.stderr
    board = {"cortex-m3": "mps2-an385", "cortex-m4": "mps2-an386"}[cpu]
    done = dnncc.run([word.replace("mps2-an385", board) for word in QEMU] + ["-kernel", tmp_path / "built" / "digits.elf"], timeout=120)
    assert done.returncode == 0 and f"{rows()['core'][0]} of 60 digits are right" in done.stdout + done.stderr


def test_no_compiler(tmp_path):
    done = make(f"OUT={tmp_path}", "CC=no-such-compiler")
    assert done.returncode and "there is no no-such-compiler" in done.stdout
    assert make(f"OUT={tmp_path}", "CC=no-such-compiler", "OPTIONAL=yes").returncode == 0


def test_page():
    """its commands are options that there are, and its warning is what is said"""
    text = PAGE.read_text()
    options = set(re.findall(r"dnncc .*?(--[a-z]+)=", text)) | set(re.findall(r"(--requantize|--target)=", text))
    assert options == {"--calibrate", "--quantize", "--requantize", "--target"}
    known = dnncc.run([dnncc.DNNCC, "--help"]).stdout
    assert all(option in known for option in options)
