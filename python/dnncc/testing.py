# SPDX-License-Identifier: MIT
"""dnncc.testing: does a compiled model give the numbers that onnxruntime does, and if not, where do they begin to differ?

    import dnncc.testing
    print(dnncc.testing.compare("model.onnx", target="native"))

What it prints of a difference, three or four lines, is a whole report of a wrong number.
"""
from __future__ import annotations

import dataclasses
import os
import re
import shlex
from typing import Any, Iterator

import numpy as np

from . import _build, _model, _tool
from ._error import ArgumentError, Error
from ._files import temporary_folder
from ._source import Source

__all__ = ["Comparison", "compare", "random_inputs"]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What compare() found; true where all outputs agree. str() of it is a report.

    reference (str): whose numbers are the right ones; output (str or None): the first output that differs; error (float): the largest
    difference there, in parts of its largest number; node, value (str or None): the first node of the model whose result differs, and
    that result; text (str): the report."""
    reference: str
    output: str | None
    error: float
    node: str | None
    value: str | None
    text: str

    def __bool__(self) -> bool:
        return self.output is None

    def __str__(self) -> str:
        return self.text


def compare(model: Any, inputs: Any = None, *, example: Any = None, rtol: float = 1e-3, atol: float = 1e-4, check: bool = True,
            **options: Any) -> Comparison:
    """Compiles a model, runs it, and compares it with onnxruntime; where that is not installed, with its own canonical code (level=0,
    exact, generic), which can be wrong in the same way, and only shows what optimizations do.

    model, example and options: as for dnncc.compile(). inputs: a dict by name, a tuple or one array; None: random ones. Equal is
    what `dnncc --test` calls so: floats within rtol |want| + atol max|want| (at least 2e-7), 8-bit integers within 1, others exactly, NaN
    and infinities alike. check (bool): of a difference, ask `dnncc --check`, too, which pass makes it: it takes long for large models."""
    source = Source(model, example)
    compiled = _build.compile_source(source, True, options)
    arrays = arranged(compiled, inputs)
    reference = reference_for(source, options)
    want, got = reference.run(arrays, []), compiled.run(arrays)
    begin = f"{source.label()}: dnncc {_tool.table()['version']} {shlex.join(_tool.arguments(uncompiled(options)))}".rstrip()
    wrong = next((found for name in got for found in [difference(name, got[name], want[name], rtol, atol)] if found), None)
    if not wrong:
        errors = [relative_error(got[name], want[name]) for name in got]
        return Comparison(reference.name, None, max(errors, default=0.0), None, None,
                          f"{begin}: equal to {reference.name}, within {max(errors, default=0.0):.1e} of the largest number")
    place = first_node(source, options, reference, arrays, rtol, atol)
    lines = [f"{begin}: output {wrong[1]}, {reference.name}", place[2], *([checked(source, options)] if check else [])]
    return Comparison(reference.name, wrong[0], relative_error(got[wrong[0]], want[wrong[0]]), place[0], place[1], "\n".join(lines))


# ---- inputs ----

def random_inputs(model: _model.Model, seed: int = 0) -> dict[str, np.ndarray]:
    """Arrays for a model's inputs by name: floats in [-1, 1), integers 0 and 1."""
    random = np.random.default_rng(seed)
    return {port.name: np.asarray(random.uniform(-1, 1, port.shape) if port.is_float() or port.dtype.kind == "c"
                                  else random.integers(0, 2, port.shape)).astype(port.dtype) for port in model.inputs}


def arranged(compiled: _model.Model, inputs: Any) -> dict[str, np.ndarray]:
    if inputs is None:
        return random_inputs(compiled)
    if not isinstance(inputs, dict):
        inputs = dict(zip([port.name for port in compiled.inputs], inputs if isinstance(inputs, (tuple, list)) else (inputs,)))
    lacking = [port.name for port in compiled.inputs if port.name not in inputs]
    if lacking:
        raise ArgumentError(f"input '{lacking[0]}' is missing")
    return {port.name: port.take(inputs[port.name]) for port in compiled.inputs}


# ---- references ----

def reference_for(source: Source, options: dict[str, Any]) -> Any:
    try:
        import onnxruntime  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return Canonical(source, options)
    return Runtime(source, onnxruntime)


def field(number: int, data: bytes) -> bytes:
    """of a protobuf message: a number, a length and so many bytes"""
    length, size = b"", len(data)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


class Runtime:
    """onnxruntime, without its own optimizations"""

    def __init__(self, source: Source, runtime: Any) -> None:
        self.source, self.runtime, self.name = source, runtime, f"onnxruntime {runtime.__version__}"

    def run(self, arrays: dict[str, np.ndarray], values: list[str]) -> dict[str, np.ndarray]:
        """the model's outputs and these values of it"""
        settings = self.runtime.SessionOptions()
        settings.graph_optimization_level = self.runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        settings.log_severity_level = 4
        data = self.source.data
        if data is None:
            with open(self.source.path or "", "rb") as file:
                data = file.read()
            home = os.path.dirname(os.path.abspath(self.source.path or ""))
            settings.add_session_config_entry("session.model_external_initializers_file_folder_path", home)
        # messages that follow each other are merged: a graph that has these outputs alone (ModelProto.graph, GraphProto.output, its name)
        more = b"".join(field(7, field(12, field(1, value.encode()))) for value in values)
        try:
            session = self.runtime.InferenceSession(data + more, settings, providers=["CPUExecutionProvider"])
            wanted = {port.name for port in session.get_inputs()}
            return dict(zip([o.name for o in session.get_outputs()], session.run(None, {n: x for n, x in arrays.items() if n in wanted})))
        except Exception as error:                                      # its classes are no part of its interface
            raise Error(4, f"{self.name} does not run the model: {error}") from None


class Canonical:
    """the model as the importer reads it: no optimizations, no vectors"""

    def __init__(self, source: Source, options: dict[str, Any]) -> None:
        of_model = {row["field"] for row in _tool.table()["options"] if row["group"] == "The model"}
        self.options = {name: value for name, value in options.items() if _tool.keywords().get(name, [{"field": ""}])[0]["field"] in of_model}
        self.source, self.name = source, f"dnncc {_tool.table()['version']} -O0 --exact (onnxruntime is not installed)"

    def run(self, arrays: dict[str, np.ndarray], values: list[str]) -> dict[str, np.ndarray]:
        return kept(self.source, {**self.options, "level": 0, "exact": True}, values).run(arrays)


# ---- differences ----

def relative_error(got: np.ndarray, want: np.ndarray) -> float:
    """the largest difference, in parts of the largest finite number that is wanted"""
    if not got.size or got.shape != want.shape:
        return 0.0 if got.shape == want.shape else float("inf")
    a, b = got.astype(np.float64), np.asarray(want).astype(np.float64)
    same = (a == b) | np.isnan(a) & np.isnan(b)
    with np.errstate(invalid="ignore"):
        largest, off = np.abs(b[np.isfinite(b)]).max(initial=0.0), np.where(same, 0.0, np.abs(a - b))
    worst = float("inf") if np.isnan(off).any() else float(off.max())
    return worst / largest if largest else worst


def difference(name: str, got: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> tuple[str, str] | None:
    """(name, what differs in words); None: equal"""
    want = np.asarray(want)
    if got.shape != want.shape:
        return name, f"'{name}' has the shape {got.shape}, not {want.shape}"
    a, b = got.astype(np.float64), want.astype(np.float64)
    if got.dtype.kind in "iub":
        near = a == b if got.dtype.itemsize > 1 or got.dtype.kind == "b" else np.abs(a - b) <= 1
    else:
        with np.errstate(invalid="ignore"):
            near = np.abs(a - b) <= np.maximum(rtol * np.abs(b) + atol * np.abs(b[np.isfinite(b)]).max(initial=0.0), 2e-7)
        near = np.where(np.isfinite(a) & np.isfinite(b), near, (a == b) | np.isnan(a) & np.isnan(b))
    if near.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~near)[0])
    return name, (f"'{name}' differs in {np.count_nonzero(~near)} of {near.size} numbers, by {relative_error(got, want):.2g} of the largest; "
                  f"first at {at}: {float(got[at]):.6g}, not {float(want[at]):.6g}")


def uncompiled(options: dict[str, Any]) -> dict[str, Any]:
    """those of dnncc alone"""
    return {name: value for name, value in options.items() if name != "cc"}


def kept(source: Source, options: dict[str, Any], values: list[str]) -> _model.Model:
    """the model with more outputs"""
    given = options.get("keep") or []
    return _build.compile_source(source, True, {**options, "keep": [*([given] if isinstance(given, str) else given), *values]})


def nodes_of(source: Source, options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(node, value that it makes), as they are computed"""
    node = ""
    for line in _build.Origin(source, uncompiled(options)).run("--info=names").decode().splitlines():
        kind, _, name = line.partition(" ")
        if kind == "node":
            node = name
        elif kind == "value":
            yield node or f"the node that makes {name}", name


def first_node(source: Source, options: dict[str, Any], reference: Any, arrays: dict[str, np.ndarray], rtol: float,
               atol: float) -> tuple[str | None, str | None, str]:
    """(node, value, in words): all values at once, as more outputs; where that makes the difference go away, since nodes are fused otherwise
    then, one at a time, halving the model"""
    outputs = {port.name for port in kept(source, options, []).outputs}
    nodes = [(node, value) for node, value in nodes_of(source, options) if value not in outputs]

    def wrong(some: list[tuple[str, str]]) -> tuple[str, str, str] | None:
        if not some:
            return None
        values = [value for _, value in some]
        got, want = kept(source, options, values).run(arrays), reference.run(arrays, values)
        for node, value in some:
            found = difference(value, got[value], want[value], rtol, atol)
            if found:
                return node, value, f"first node that differs: '{node}', whose result {found[1]}"
        return None
    try:
        found = wrong(nodes)
        if found:
            return found
        low, high, last = 0, len(nodes), None
        while low < high:
            middle = (low + high) // 2
            found = wrong([nodes[middle]])
            last, low, high = (found, low, middle) if found else (last, middle + 1, high)
        return last or (None, None, "no node's result differs where it is kept: only the output itself, whose node is fused with others")
    except Error as error:
        return None, None, f"the nodes' results were not compared: {error}"


def checked(source: Source, options: dict[str, Any]) -> str:
    """what --check says of the passes, in a line; of a pass that is wrong it leaves the program before it in the working folder, and says so"""
    origin = _build.Origin(source, uncompiled(options))
    with temporary_folder() as folder:
        try:
            _, said = _tool.run([*origin.arguments, "--check", "-q", "-o", os.path.join(folder, "model.c"), source.argument], source.data)
        except Error as error:
            return f"check: {next((line for line in error.text.splitlines() if 'error: ' in line), error.text)}"
    equal, skipped = (len(re.findall(rf"^check: \S+: {word}", said, re.M)) for word in ("equal", "skipped"))
    return f"check: {equal} passes change nothing" + (f", {skipped} were skipped" if skipped else "") + ": the model is read otherwise, or an option changes it on purpose"
