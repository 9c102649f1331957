"""docs/adding-a-target.md is true: its file and its line, in a copy of the tree, are a new target."""
import os
import pathlib
import re
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

ROOMS = ["base", "ir", "schedule", "passes", "codegen", "compiler", "runtime"]
PAGE = (dnncc.ROOT / "docs" / "adding-a-target.md").read_text()
DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"


def blocks():
    """the indented texts of the page, as they are"""
    for block in re.findall(r"(?:^    .*\n|^\n)+", PAGE, re.M):
        if block.strip():
            yield re.sub(r"^    ", "", block, flags=re.M).strip() + "\n"


@pytest.mark.skipif(not shutil.which("make"), reason="no make")
def test_a_file_and_a_line(tmp_path):
    for room in ROOMS:
        shutil.copytree(dnncc.ROOT / room, tmp_path / room)
    shutil.copy(dnncc.ROOT / "Makefile", tmp_path)
    built = pathlib.Path(dnncc.DNNCC).parent      # what is compiled already need not be again
    if (built / "obj").is_dir():
        shutil.copytree(built / "obj", tmp_path / "build" / "obj")
        for name in ("onnx.pb-c.c", "onnx.pb-c.h", "library.inc"):
            shutil.copy2(built / name, tmp_path / "build")
    name = re.search(r"codegen/targets/(\w+)\.c", PAGE)[1]
    code, line = list(blocks())[:2]
    assert f"target_{name} = {{" in code and line == f"TARGET({name})\n"
    (tmp_path / "codegen" / "targets" / f"{name}.c").write_text(code)
    table = tmp_path / "codegen" / "targets.def"
    table.write_text(table.read_text().replace("TARGET(x86_64_v4)\n", "TARGET(x86_64_v4)\n" + line))
    os.utime(tmp_path / "codegen" / "targets.c")
    done = dnncc.run(["make", "-C", tmp_path, "B=build", "CFLAGS=-O0", "all"], timeout=1200)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr[-3000:]
    program = tmp_path / "build" / "dnncc"
    assert name in dnncc.run([program, "--target=help"]).stdout
    for target in (name, f"x86-64,{name}"):
        done = dnncc.run([program, DIGITS, f"--target={target}", "-o", tmp_path / "digits.c"])
        assert done.returncode == 0, done.stderr
        done = dnncc.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-c", tmp_path / "digits.c", "-o", tmp_path / "digits.o"])
        assert done.returncode == 0, done.stderr
