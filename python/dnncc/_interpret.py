# SPDX-License-Identifier: MIT
"""Without a C compiler, and without LLVM (_jit.py): dnncc's own interpreter runs the model, a process for each call. The results
are those of the C for the same target, to the bit; they take long."""
import json
import os
import warnings

import numpy as np

from . import _tool
from ._arrays import port_of
from ._error import ArgumentError, Error
from ._files import folder_for, temporary_folder
from ._model import Model

said = False


def say():
    """once"""
    global said
    if not said:
        warnings.warn("there is no C compiler (cc, gcc, clang, or $CC), and LLVM is missing or does not run the model (docs/jit.md): "
                      "it runs in dnncc's interpreter, which is slow", stacklevel=5)
    said = True


class Interpreted:
    """As _model.Library: inputs, outputs, run(arrays) -> arrays"""

    def __init__(self, origin):
        if any(argument.startswith("--dim=") and ".." in argument for argument in origin.arguments):
            raise Error(4, "a model with extents that a call gives wants a C compiler, and there is none")
        if any(argument.startswith("--state=") for argument in origin.arguments):
            raise Error(4, "a model that keeps state wants a C compiler, and there is none")
        self.folder = folder_for(self)
        self.program = os.path.join(self.folder, "model.loops")
        report = os.path.join(self.folder, "model.json")
        origin.run("--emit=loops", "-o", self.program, f"--report={report}")
        with open(report, encoding="utf-8") as file:
            facts = json.load(file)
        self.name = facts["model"]
        self.regions = [("workspace", facts["workspace"], 1, 0)]
        self.inputs, self.outputs = (tuple(port_of(b["port"], b["type"], b["shape"], b["bytes"]) for b in facts["buffers"] if b["space"] == space)
                                     for space in ("input", "output"))

    def run(self, arrays):
        with temporary_folder() as folder:
            for k, (port, x) in enumerate(zip(self.inputs, arrays)):
                np.save(os.path.join(folder, f"input_{k}.npy"), port.stored(x))
            _tool.run(["-q", f"--run={folder}", self.program])
            return [port.loaded(np.load(os.path.join(folder, f"output_{k}.npy"))) for k, port in enumerate(self.outputs)]

    def hold(self, given, results):
        raise ArgumentError("bind wants compiled code, and there is no C compiler")


def interpret(origin):
    say()
    program = Interpreted(origin)
    return Model(program, {"name": program.name, "source": origin.source.digest, "options": origin.arguments}, None, origin)
