# SPDX-License-Identifier: MIT
"""Models as commands, held to the bits that dnncc's interpreter gives for the graph that they were made of."""
import json
import pathlib
import re

import numpy as np

import dnncc
from command_machine import Machine


def emit(model, folder, *options, memory=None):
    """(text, parameters, report); dnncc must succeed"""
    folder = pathlib.Path(folder)
    out = folder / "model.commands"
    size = [] if memory is None else [f"--activation-memory={memory}"]
    done = dnncc.run([dnncc.DNNCC, model, "--target=sections", "--emit=commands", "-q", "-o", out, f"--report={folder / 'report.json'}", *size,
                      *options], timeout=600)
    assert done.returncode == 0, done.stderr
    return out.read_text(), pathlib.Path(f"{out}.bin").read_bytes(), json.loads((folder / "report.json").read_text())


def fails(model, folder, *options):
    done = dnncc.run([dnncc.DNNCC, model, "--target=sections", "--emit=commands", "-q", "-o", pathlib.Path(folder) / "bad.commands", *options])
    assert not (pathlib.Path(folder) / "bad.commands").exists()
    return done.returncode, done.stderr


class Graph:
    """what the commands were made of, and what its values are on an input"""

    def __init__(self, model, folder, *options):
        self.folder, path = pathlib.Path(folder), pathlib.Path(folder) / "graph.dnn"
        done = dnncc.run([dnncc.DNNCC, model, "--target=sections", "--emit=ir", "-q", "-o", path, *options], timeout=600)
        assert done.returncode == 0, done.stderr
        self.text = path.read_text()

    def names(self):
        return [m[1] for m in re.finditer(r"%(\w+) \"", re.search(r"^func @main\((.*)\) -> \(", self.text, re.M)[1])]

    def values(self, inputs, numbers):
        """{number: array} of values of the text; negative: arguments"""
        wanted = sorted({n for n in numbers if n >= 0})
        known = self.names()
        text = re.sub(r"(-> \().*(\) \{)$", lambda m: m[1] + ", ".join(f'"v{n}"' for n in wanted) + m[2], self.text, count=1, flags=re.M)
        text = re.sub(r"^  yield\(.*\)$", "  yield(" + ", ".join(f"%{n}" for n in wanted) + ")", text, flags=re.M)
        (self.folder / "values.dnn").write_text(text)
        given = self.folder / "given"
        given.mkdir(exist_ok=True)
        for k, x in enumerate(inputs):
            np.save(given / f"input_{k}.npy", x)
        done = dnncc.run([dnncc.DNNCC, self.folder / "values.dnn", "-q", "-O1", f"--run={given}", "--cc=cc -O1"], timeout=1200)
        assert done.returncode == 0, done.stderr
        result = {n: np.load(given / f"output_{k}.npy") for k, n in enumerate(wanted)}
        result.update({-1 - k: x for k, x in enumerate(inputs[:len(known)])})
        return result


def plane(x):
    """c x h x w"""
    return x.reshape(x.shape[1], *(x.shape[2:] if x.ndim == 4 else (1, 1)))


def held(text, parameters, values, poison=0x5a5a, row=1):
    """Runs the commands; each volume that is a value of the graph must have its numbers, and what is uploaded, too."""
    machine = Machine(text, parameters, poison, row=row)
    volumes = {c.name: c.value for c in machine.commands if c.op == "XNVolume"}
    inputs = {c.name for c in machine.commands if c.op == "XNInput"}
    machine.run({name: plane(values[volumes[name]]) for name in inputs})
    compared = 0
    for name in machine.seen:
        if volumes[name] > -2 ** 31:
            wanted, rows = plane(values[volumes[name]]), machine.seen[name]
            assert name not in machine.made or sorted(rows) == list(range(wanted.shape[1])), name
            for k, row in rows.items():
                assert (row == wanted[:, k]).all(), (name, k)
            compared += 1
    assert compared
    for name, numbers in machine.uploads:
        assert volumes[name] > -2 ** 31
        rows = plane(values[volumes[name]])
        assert any((numbers == rows[:, k:k + numbers.shape[1]]).all() for k in range(rows.shape[1])), name
    return machine


def numbers_of(text):
    return {int(m[1]) for m in re.finditer(r"^# \d+ XNVolume .* (-?\d+) -?\d+$", text, re.M) if int(m[1]) > -2 ** 31}
