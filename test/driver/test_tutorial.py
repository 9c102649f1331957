# SPDX-License-Identifier: MIT
"""docs/tutorial.md, docs/questions.md and docs/architecture.md show what the compiler prints: their blocks are commands and their output. BLESS=1 writes the
output anew."""
import os
import pathlib
import re
import subprocess

import pytest
from test_command_line import DIGITS
import dnncc  # the path is set by test_command_line

PAGES = {"tutorial": 10, "questions": 12, "architecture": 4}        # and how many blocks they have at least
BLOCK = re.compile(r"^```\n(\$ .*?)^```\n", re.M | re.S)


def play(block, folder):
    """the block with what its commands print now"""
    shown = ""
    for command in re.findall(r"^\$ (.*)\n", block, re.M):
        path = f"{pathlib.Path(dnncc.DNNCC).resolve().parent}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path, "LC_ALL": "C"})
        assert done.returncode == 0 and not done.stderr, f"{command}: {done.stderr}"
        assert done.stdout.endswith("\n") or not done.stdout, f"{command}: the last line does not end"
        shown += f"$ {command}\n{done.stdout}"
    return shown


@pytest.mark.parametrize("page", PAGES)
def test_tutorial(page, tmp_path):
    """the commands run one after the other in one folder, which holds examples/digits"""
    (tmp_path / "examples" / "digits").mkdir(parents=True)
    (tmp_path / "examples" / "digits" / DIGITS.name).write_bytes(DIGITS.read_bytes())
    path = dnncc.ROOT / "docs" / f"{page}.md"
    text = path.read_text()
    now = BLOCK.sub(lambda block: f"```\n{play(block.group(1), tmp_path)}```\n", text)
    if os.environ.get("BLESS"):
        path.write_text(now)
        return
    assert len(BLOCK.findall(text)) > PAGES[page]
    assert now == text, f"docs/{page}.md is not what the compiler prints: BLESS=1"
