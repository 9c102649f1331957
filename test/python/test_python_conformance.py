# SPDX-License-Identifier: MIT
"""The backend tests of the onnx wheel through the package: one of twenty, and all in the tier all. Which of them are supported is
test/conformance's matter; what is compiled must give the same results here."""
import pathlib
import sys

import dnncc_package
import onnx.backend.test
import pytest
from onnx.backend.base import Backend, BackendRep

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
from dnncc_backend import APART  # noqa: E402

EVERY = 20


class Compiled(BackendRep):
    def __init__(self, model):
        self.model = model

    def run(self, inputs, **_):
        initializers = {i.name for i in self.model.graph.initializer}
        given = [i for i in self.model.graph.input if i.name not in initializers]
        shapes = {value.name: array.shape for value, array in zip(given, inputs)
                  if value.type.HasField("tensor_type") and hasattr(array, "shape")
                  and not all(d.HasField("dim_value") for d in value.type.tensor_type.shape.dim)}
        try:
            m = dnncc_package.compile(self.model, input=shapes, cc="cc -O1", cache=False)
        except dnncc_package.Error as error:
            if error.code == 4:
                pytest.skip(str(error)[:300])
            raise
        return tuple(m.run({port.name: x for port, x in zip(m.inputs, inputs)}).values())


class PythonBackend(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **keywords):
        return Compiled(model)

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"


backend_test = onnx.backend.test.BackendTest(PythonBackend, __name__)
for pattern in APART:
    backend_test.exclude(pattern)
for group, cases in sorted(backend_test.test_cases.items()):
    for k, name in enumerate(n for n in sorted(vars(cases)) if n.startswith("test_")):
        if name.endswith("_cuda"):
            delattr(cases, name)
        else:
            setattr(cases, name, (pytest.mark.slow if k // 2 % EVERY == 0 else pytest.mark.long)(getattr(cases, name)))
    globals()[group.replace("OnnxBackend", "PythonBackend")] = cases        # test/conformance counts classes of the other name
