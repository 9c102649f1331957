"""Dependencies between the rooms of the house point one way, as docs/architecture.md says."""
import pathlib
import re

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
