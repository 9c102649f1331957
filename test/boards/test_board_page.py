# SPDX-License-Identifier: MIT
"""docs/boards.md, from a model to a board: its table of cores is that of boards.py, whose programs run; its commands compile for each of them."""
import pathlib
import re
import shlex
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import boards  # noqa: E402
import dnncc  # noqa: E402

PAGE = (dnncc.ROOT / "docs" / "boards.md").read_text()
CORES = re.findall(r"^\| [^|]+ \| `--target=(\S+)` \| `(.+)` \|$", PAGE, re.M)


def test_table():
    """all cores but those of operating systems, with the flags by which they are measured"""
    of = {b.own: (b.cc[0], set(b.flags.split())) for name, b in boards.BOARDS.items() if b.kind != "hosted" and name in boards.WHOLE}
    assert {target for target, _ in CORES} == set(of)
    for target, command in CORES:
        compiler, *flags = command.split()
        assert (compiler, set(flags) - {"-ffreestanding"}) == of[target], target


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize("target,compiler", CORES, ids=[target for target, _ in CORES])
def test_commands(target, compiler, tmp_path):
    """the two behind the table, and those about budgets and life on a board, for the core"""
    if not shutil.which(compiler.split()[0]):
        pytest.skip(f"no {compiler.split()[0]}")
    shutil.copy(boards.EXAMPLES["digits_int8"], tmp_path / "model.onnx")
    lines = [line.partition("  #")[0] for line in re.findall(r"^    (dnncc .*--target=cortex-m4 .*)$", PAGE, re.M)]
    compile_line, = re.findall(r"^    (arm-none-eabi-gcc .*)$", PAGE, re.M)
    flags = compile_line[compile_line.index("-std="):]
    assert len(lines) == 4
    for line in lines:
        done = dnncc.run([dnncc.DNNCC, *shlex.split(line.replace("cortex-m4", target))[1:]], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        done = dnncc.run([*compiler.split(), *flags.split(), "-Wall", "-Wextra", "-Wpedantic"], cwd=tmp_path)
        assert done.returncode == 0 and not done.stderr, done.stderr
