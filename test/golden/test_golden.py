# SPDX-License-Identifier: MIT
"""Golden texts: what passes make of small programs, and the C that comes out. `make bless` renews them.

NAME.dnn or NAME.loops begins with a comment "; run: OPTIONS"; NAME.expected holds what dnncc with these OPTIONS and -o - prints.
"""
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402

CASES = sorted([*HERE.glob("*.dnn"), *HERE.glob("*.loops")])


@pytest.mark.parametrize("path", CASES, ids=[p.stem for p in CASES])
def test_golden(path):
    first = path.read_text().splitlines()[0]
    assert first.startswith("; run: ")
    done = dnncc.run([dnncc.DNNCC, path, *first[len("; run: "):].split(), "-o", "-", "--name=model"])
    if "--emit=llvm" in first and (done.returncode == dnncc.UNSUPPORTED or "(ptr " in done.stdout):
        pytest.skip("no LLVM, or a later one, whose text has other pointers")
    assert done.returncode == 0, done.stderr
    expected = path.with_suffix(".expected")
    if os.environ.get("BLESS"):
        expected.write_text(done.stdout)
    assert done.stdout == expected.read_text(), f"{path.name} changed: look, then make bless"
