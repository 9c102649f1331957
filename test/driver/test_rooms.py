# SPDX-License-Identifier: MIT
"""Dependencies between the rooms of the house point one way, as docs/architecture.md says."""
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^#include "([^"/]+)/', re.MULTILINE)


def test_dependencies_point_one_way():
    said = re.search(r"Dependencies point one way: ([^.]*)\.", (TOP / "docs/architecture.md").read_text())
    rooms = said[1].split(" -> ")
    assert rooms[0] == "compiler" and rooms[-1] == "base"
    includes = [(path.relative_to(TOP), to) for room in rooms for path in sorted((TOP / room).rglob("*.[ch]"))
                for to in INCLUDE.findall(path.read_text())]
    assert {to for _, to in includes} >= set(rooms) - {"compiler"}       # else nothing was looked at
    wrong = [f"{path} includes {to}/" for path, to in includes if to in rooms and rooms.index(to) < rooms.index(path.parts[0])]
    assert not wrong, wrong


LICENCE = "SPDX-License-Identifier: MIT"
INTO_OUTPUTS = ("compiler/page/", "compiler/harness/main.c")      # what dnncc writes of them is the user's


def test_licence_of_each_file():
    """is named in its first line, or behind #!; each file is one that was written here"""
    assert (TOP / "LICENSE").read_text().startswith("MIT License\n")
    files = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True)
    if files.returncode:
        pytest.skip("no repository")
    sources = [name for name in files.stdout.split() if not name.startswith(INTO_OUTPUTS) and
               (name.endswith((".c", ".h", ".hpp", ".def", ".py", ".cmake", ".sh")) or name == "Makefile") and (TOP / name).exists()]
    without = [name for name in sources if LICENCE not in "".join((TOP / name).read_text().splitlines(True)[:2])]
    fetched = [name for name in files.stdout.split() if name.endswith((".whl", ".deb", ".tar", ".gz", ".zip", ".pt", ".so", ".o", ".a"))]
    assert not fetched, f"packages and what compilers make are no part of the project: {fetched}"
    assert len(sources) > 500 and not without, f"first line of {without}: /* {LICENCE} */ or # {LICENCE}"
