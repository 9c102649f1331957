# SPDX-License-Identifier: MIT
"""Code with vectors says itself which compilers it is for, before they stumble over its headers."""
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
X86, ARM = ("gcc or clang for 64-bit x86", "gcc or clang for 64-bit ARM")
OTHER = [("x86-64-v3", "aarch64-linux-gnu-gcc", [], X86), ("x86-64-v4,x86-64-v4-vnni", "clang", ["--target=aarch64-linux-gnu"], X86),
         ("x86-64", "arm-none-eabi-gcc", [], X86), ("aarch64", "gcc", [], ARM), ("aarch64-dotprod", "clang", [], ARM),
         ("armv7-neon", "gcc", [], "gcc for ARMv7-A"), ("armv7-neon", "arm-none-eabi-gcc", ["-mcpu=cortex-m4"], "gcc for ARMv7-A"),
         ("armv7-neon", "aarch64-linux-gnu-gcc", [], "gcc for ARMv7-A")]
OLD = [("x86-64-v4-vnni", "gcc", ["-U__GNUC__", "-D__GNUC__=7"], "gcc knows its instructions (avx512vnni,", "from version 8 on"),
       ("sapphirerapids", "gcc", ["-U__GNUC__", "-D__GNUC__=10"], "gcc knows its instructions (amx-tile,", "from version 11 on"),
       ("x86-64-v3-vnni", "clang", ["-U__clang_major__", "-D__clang_major__=11"], "clang knows its instructions (avxvnni,", "from version 12 on")]
NATIVE = [("x86-64-v3", "gcc", []), ("sapphirerapids", "gcc", []), ("x86-64-v4-vnni", "clang", []), ("generic,x86-64-v3", "aarch64-linux-gnu-gcc", []),
          ("aarch64-dotprod", "aarch64-linux-gnu-gcc", []), ("armv7-neon", "arm-linux-gnueabihf-gcc", []), ("generic,armv7-neon", "gcc", [])]


def preprocess(folder, target, compiler, flags):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    dnncc.compile_model(DIGITS, folder, [f"--target={target}"])
    return dnncc.run([compiler, *flags, "-ffreestanding", "-E", "-o", folder / "model.i", folder / "model.c"])


def said(done):
    """texts of #error, the first compiler error first"""
    return [line for line in done.stderr.splitlines() if "error:" in line]


@pytest.mark.parametrize("target, compiler, flags, wanted", OTHER)
def test_other_processors(tmp_path, target, compiler, flags, wanted):
    done = preprocess(tmp_path, target, compiler, flags)
    first = said(done)[0]
    assert done.returncode and wanted in first and f"code of --target={target.split(',')[0]}:" in first and "--target=generic" in first


@pytest.mark.parametrize("target, compiler, flags, wanted, version", OLD)
def test_old_compilers(tmp_path, target, compiler, flags, wanted, version):
    done = preprocess(tmp_path, target, compiler, flags)
    assert done.returncode and any(wanted in line and version in line for line in said(done))


@pytest.mark.parametrize("target, compiler, flags", NATIVE)
def test_compilers_that_will_do(tmp_path, target, compiler, flags):
    done = preprocess(tmp_path, target, compiler, flags)
    assert done.returncode == 0, done.stderr
