# SPDX-License-Identifier: MIT
"""Constants of cost stand in one table, which targets override and cost/ alone reads."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

ASKED = re.compile(r"\b(?:rate_(\w+)|target_(?:l1|l2)_bytes)\(")


def sources(*rooms):
    return [path for room in rooms for path in sorted((dnncc.ROOT / room).rglob("*.[ch]"))]


def test_decisions_ask_models():
    models = re.compile(r"_cost|stream_whole|launch_partition")      # of engines: what cost/ is to all
    found = [f"{path.relative_to(dnncc.ROOT)}: {m[0]}" for path in sources("schedule", "kernels", "passes", "engines")
             if not models.search(path.name) for m in ASKED.finditer(path.read_text())]
    assert not found


def test_every_rate_is_read():
    listed = re.findall(r"^RATE\((\w+),", (dnncc.ROOT / "ir" / "target" / "rates.def").read_text(), re.M)
    read = {m[1] for path in sources("cost", "engines", "ir", "compiler") for m in ASKED.finditer(path.read_text())}
    assert len(listed) == len(set(listed)) and set(listed) == read - {"multiply", "", None}


def test_no_target_is_named():
    """neither its file nor its name, where decisions are made"""
    names = {name for path in (dnncc.ROOT / "codegen" / "targets").glob("*.c") for name in re.findall(r'\.name = "([\w-]+)"', path.read_text())}
    names -= {"generic"}
    for path in sources("schedule", "passes", "cost", "kernels", "engines"):
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        assert not [name for name in names if re.search(rf'"{name}"|target_{name.replace("-", "_")}\b', code)], path
