# SPDX-License-Identifier: MIT
"""Models that can be called: a library's descriptor (docs/interface.md) by ctypes.

ctypes lets go of the interpreter's lock while a model runs. Each run has a workspace of its own: they lie in a pool,
which has as many as there were runs at the same time.
"""
from __future__ import annotations

import ctypes
import json
import mmap
import os
import re
import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays
from ._arrays import OpenPort, Port, TextPort, address, counted_names, port_of
from ._error import ArgumentError, Error, cannot_read
from ._files import copy_whole

if TYPE_CHECKING:
    from ._report import Report

ABI, ABI_STATE = 1, 2
SCRATCH, STATE, WEIGHTS = 0, 1, 2       # kinds of regions


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("symbols", ctypes.c_void_p), ("bytes", ctypes.c_uint64)]


class Region(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_uint64), ("align", ctypes.c_uint64), ("kind", ctypes.c_int32)]


class Description(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint32), ("struct_size", ctypes.c_uint32), ("name", ctypes.c_char_p),
                ("region_count", ctypes.c_uint32), ("input_count", ctypes.c_uint32), ("output_count", ctypes.c_uint32),
                ("extent_count", ctypes.c_uint32), ("regions", ctypes.POINTER(Region)), ("inputs", ctypes.POINTER(Tensor)),
                ("outputs", ctypes.POINTER(Tensor)), ("run", ctypes.c_void_p)]


class Member(ctypes.Structure):
    """of state"""
    _fields_ = [("name", ctypes.c_char_p), ("next", ctypes.c_char_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("symbols", ctypes.c_void_p), ("offset", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]


class DescriptionOfState(ctypes.Structure):
    _fields_ = [("model", Description), ("state_count", ctypes.c_uint32), ("states", ctypes.POINTER(Member))]


RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def fail(code):
    from . import _tool
    raise Error(code, _tool.code_text(code))


# ---- what runs ----

class Library:
    """Machine code: inputs, outputs, run(arrays) -> arrays, hold(inputs, outputs) -> a function"""

    def __init__(self, path, names, weights=None):
        share_threads()
        try:
            library = ctypes.CDLL(os.path.abspath(path))
        except OSError as error:
            if not os.path.exists(path):
                raise cannot_read(path, FileNotFoundError(), f"cannot load {path}: there is no such file") from None
            raise Error(2, f"cannot load {path}: {error}") from None
        self.loaded = Loaded(library._handle)
        if hasattr(library, f"{names[0]}_trace_end"):            # of profile=FILE; a library with threads stays loaded
            weakref.finalize(self, getattr(library, f"{names[0]}_trace_end")).atexit = False
        self.prefix = next((name for name in names if hasattr(library, f"{name}_describe")), None)
        if self.prefix is None:
            raise Error(2, f"{path} has no {' or '.join(f'{n}_describe' for n in names)}: name= says what its symbols begin with")
        describe = getattr(library, f"{self.prefix}_describe")
        describe.restype = ctypes.POINTER(Description)
        d = describe().contents
        least = {ABI: Description, ABI_STATE: DescriptionOfState}.get(d.abi)
        if least is None or d.struct_size < ctypes.sizeof(least):
            raise Error(4, f"{path} is of another version of dnncc's interface")
        self.function = RUN(d.run)
        self.begin(library)
        self.describe(d)
        self.weights = self.map_weights(path, weights)
        self.members = {}               # of state: name -> (offset, bytes, port)
        self.lengths = []               # those among them that tensors' extents are made of
        if d.abi == ABI_STATE:
            with_state = ctypes.cast(describe(), ctypes.POINTER(DescriptionOfState)).contents
            for s in with_state.states[:with_state.state_count]:
                port = port_of(s.name.decode(), s.type, s.shape[:s.rank] if s.rank else (), s.bytes)
                held = OpenPort(port.name, s.type, port.shape, symbols_of(s)) if s.symbols else None
                self.members[port.name] = s.offset, s.bytes, port, held
                if s.next is None:
                    self.lengths.append(port.name)
        self.learn_extents(d)

    def describe(self, d):
        self.name = d.name.decode()
        self.inputs, self.outputs = self.make_ports(d.inputs, d.input_count), self.make_ports(d.outputs, d.output_count)
        self.regions = [(r.name.decode(), r.size, r.align, r.kind) for r in d.regions[:d.region_count]]
        self.lanes = []                 # that no run is in
        self.texts = any(isinstance(port, TextPort) for port in (*self.inputs, *self.outputs))

    def learn_extents(self, d):
        """of calls: how many there are, and which of them a run counts"""
        self.extent_count = d.extent_count
        counted = counted_names(self.inputs, self.outputs) if d.extent_count else []
        self.counted = [name for name in counted if name not in self.lengths]

    def begin(self, library):
        """before anything else is done with it"""

    def make_ports(self, tensors, count):
        return ports(tensors, count)

    def map_weights(self, path, weights):
        size, kinds = next((r[1] for r in self.regions if r[3] == WEIGHTS), None), {r[3] for r in self.regions}
        if kinds - {SCRATCH, STATE, WEIGHTS}:
            raise Error(4, f"{path} wants memory of a kind that only its own program can give")
        if size is None:
            return None
        weights = weights or os.path.splitext(path)[0] + ".weights"
        try:
            with open(weights, "rb") as file:
                mapped = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        except (OSError, ValueError) as error:
            said = f"cannot read the weights of {path}: {error}"
            raise (cannot_read(weights, error, said) if isinstance(error, OSError) else Error(2, said)) from None
        if mapped.size != size:
            raise Error(2, f"{weights} has {mapped.size} bytes, and {path} wants {size}")
        return mapped

    def new_lane(self):
        """what a run needs beside its arrays: (inputs, outputs, their addresses and that of regions, what they point to)"""
        memory, pointers = [], (ctypes.c_void_p * max(1, len(self.regions)))()
        for k, (_, size, align, kind) in enumerate(self.regions):
            block = self.weights if kind == WEIGHTS else aligned(0 if kind == STATE else size, align)
            memory.append(block)
            pointers[k] = address(block) if block.size else None
        inputs = (ctypes.c_void_p * max(1, len(self.inputs)))()
        outputs = (ctypes.c_void_p * max(1, len(self.outputs)))()
        return inputs, outputs, ctypes.addressof(pointers), ctypes.addressof(inputs), ctypes.addressof(outputs), (pointers, memory)

    def new_state(self):
        """the memory of a sequence of runs that begins"""
        _, size, align, _ = next(r for r in self.regions if r[3] == STATE)
        state = aligned(size, align)
        state[:] = 0
        return state

    def run(self, arrays, state=None):
        try:
            lane = self.lanes.pop()     # atomic
        except IndexError:
            lane = self.new_lane()
        inputs, outputs, at_regions, at_inputs, at_outputs, (pointers, _) = lane
        if state is not None:
            pointers[[r[3] for r in self.regions].index(STATE)] = address(state)
        if self.texts:
            arrays = [port.pointed(x) for port, x in zip(self.inputs, arrays)]
        for k, x in enumerate(arrays):
            inputs[k] = address(x) if isinstance(x, np.ndarray) else ctypes.addressof(x)
        results = []
        extents, at_extents = self.extents_of(arrays, state) if self.extent_count or self.lengths else ({}, None)
        for k, port in enumerate(self.outputs):
            open_port = isinstance(port, OpenPort)
            shape = port.bounds if open_port and self.counted else port.shape_in(extents) if open_port else None
            y = np.empty(shape, port.dtype) if open_port else port.room_for()
            outputs[k] = address(y)
            results.append(y)
        code = self.function(at_regions, at_inputs, at_outputs, at_extents)
        self.lanes.append(lane)
        if code:
            fail(code)
        if self.counted:
            extents.update(zip(self.counted, at_extents[-len(self.counted):]))
            results = [port.cut(y, extents) if isinstance(port, OpenPort) else y for port, y in zip(self.outputs, results)]
        return [port.found(y) for port, y in zip(self.outputs, results)] if self.texts else results

    def member(self, state, name):
        """an array of what a state has of that name"""
        offset, size, port, held = self.members[name]
        array = state[offset:offset + size].view(port.dtype).reshape(port.shape)
        if held:                        # its first rows are in use
            array = array[tuple(map(slice, held.shape_in({n: int(self.member(state, n)) for n in self.lengths})))]
        return array

    def extents_of(self, arrays, state):
        """the extents of a call with these inputs by name, and as run takes them: in the order in which inputs have them first"""
        extents = {name: int(self.member(state, name)) for name in self.lengths}
        ports = [(port, x) for port, x in zip(self.inputs, arrays) if isinstance(port, OpenPort)]
        for port, x in ports:
            port.learn(x.shape, extents)
        for port, x in ports:
            port.solve(x.shape, extents)
        for port, x in ports:
            if port.unknown(extents):
                raise ArgumentError(f"'{port.name}': {x.shape} is no shape of ({', '.join(map(str, port.shape))})")
            if port.shape_in(extents) != x.shape:
                raise ArgumentError(f"'{port.name}' has the shape {port.shape_in(extents)}, not {x.shape}")
        given = [extent for name, extent in extents.items() if name not in self.lengths]
        if len(given) + len(self.counted) != self.extent_count:
            raise Error(4, "the model has extents that none of its inputs says")
        return extents, (ctypes.c_int64 * self.extent_count)(*given)

    def hold(self, given, results):
        lane = self.new_lane()
        for slots, arrays in ((lane[0], given), (lane[1], results)):
            for k, x in enumerate(arrays):
                slots[k] = address(x)
        return self.function, lane[2:5], (self, lane)


def symbols_of(t):
    return [s and s.decode() for s in ctypes.cast(t.symbols, ctypes.POINTER(ctypes.c_char_p))[:t.rank]]


def ports(tensors, count):
    return tuple(OpenPort(t.name.decode(), t.type, t.shape[:t.rank], symbols_of(t)) if t.symbols else
                 port_of(t.name.decode(), t.type, t.shape[:t.rank] if t.rank else (), t.bytes) for t in tensors[:count])


def aligned(size, align):
    block = np.empty(size + align if size else 0, np.uint8)
    return block[-address(block) % align:][:size] if size else block


class Loaded:
    """A library that is there as long as this object."""

    def __init__(self, handle):
        weakref.finalize(self, close_library, handle).atexit = False


def close_library(handle):
    import _ctypes
    (_ctypes.FreeLibrary if os.name == "nt" else _ctypes.dlclose)(handle)


shared = None


def share_threads():
    """One pool of threads for all models of the process: its dnncc_parallel comes before those that libraries bring, where a
    system looks symbols up by name alone (not on macOS and Windows: each model with threads has a pool there)."""
    global shared
    if shared is None:
        from . import _tool
        path = _tool.runtime("libdnncc_runtime.so") if sys.platform not in ("darwin", "win32") else None
        shared = ctypes.CDLL(path, ctypes.RTLD_GLOBAL) if path else False


# ---- what is called ----

class Outputs(tuple):
    """The results of a model that has several, numpy arrays, by position or by name: y[0], y["scores"], y.scores, dict(y)."""
    _fields: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return tuple.__getitem__(self, self._fields.index(key))
            except ValueError:
                raise KeyError(key) from None
        return tuple.__getitem__(self, key)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no output '{name}', but {', '.join(self._fields)}") from None

    def keys(self) -> tuple[str, ...]:
        """The names of the outputs, in the model's order."""
        return self._fields

    def items(self) -> list[tuple[str, np.ndarray]]:
        """Pairs of name and array."""
        return list(zip(self._fields, self))

    def sequence(self, name: str) -> list[np.ndarray] | None:
        """The items of an output that is a sequence: outputs name.0, name.1, or rows with their shapes; None of an optional one without a value."""
        if name not in self._fields:
            items = [(int(k[len(name) + 1:]), v) for k, v in self.items() if k.startswith(f"{name}.") and k[len(name) + 1:].isdecimal()]
            if not items:
                raise KeyError(name)
            return [v for _, v in sorted(items, key=lambda item: item[0])]
        rows = self[name]
        if f"{name}.present" in self._fields and not self[f"{name}.present"]:
            return None
        if f"{name}.shapes" not in self._fields:
            return list(rows)
        shapes = [[e for e in shape if e >= 0] for shape in self[f"{name}.shapes"].tolist()]
        return [row[tuple(map(slice, shape)) + (0,) * (row.ndim - len(shape))] for row, shape in zip(rows, shapes)]

    def _asdict(self) -> dict[str, np.ndarray]:
        return dict(zip(self._fields, self))

    def __repr__(self) -> str:
        return f"Outputs({self._asdict()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._fields, tuple(self))


def outputs_type(names):
    return type("Outputs", (Outputs,), {"_fields": tuple(names), "__slots__": ()})


def _restore(names, values):
    return outputs_type(names)(values)


class Bound:
    """A model on certain arrays: each call reads the inputs and writes the outputs where they lie. One call at a time.

    inputs (tuple of numpy arrays); outputs: what a call returns, the array, or Outputs where there are several."""
    __slots__ = ("inputs", "outputs", "_function", "_a", "_b", "_c", "_keeps")

    inputs: tuple[np.ndarray, ...]
    outputs: np.ndarray | Outputs

    def __init__(self, inputs: tuple[np.ndarray, ...], outputs: np.ndarray | Outputs, held: Any) -> None:
        self.inputs, self.outputs = inputs, outputs
        self._function, (self._a, self._b, self._c), self._keeps = held

    def __call__(self) -> np.ndarray | Outputs:
        code = self._function(self._a, self._b, self._c, None)
        if code:
            fail(code)
        return self.outputs

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle or copy a bound run, which is about arrays where they lie: pickle the model, and bind it there")


class Sequence:
    """Calls of a model that keeps state (state={"past": "present"}), each of which goes on where the one before has ended.

    sequence["past"] is an array of what it keeps, to read and to set; copy() goes on by itself; reset() begins again, with
    zeros. One call at a time."""
    __slots__ = ("model", "_state")

    model: Model

    def __init__(self, model: Model, state: np.ndarray | None = None) -> None:
        self.model = model
        self._state = model._program.new_state() if state is None else state

    def __call__(self, *args: Any, **named: Any) -> np.ndarray | Outputs:
        """Runs the model, as a call of one without state does."""
        m = self.model
        given = m._arrange(args, named)
        return m._results(m._program.run([port.take(x) for port, x in zip(m.inputs, given)], self._state))

    def entry(self, name: str) -> Sequence:
        """The sequence by another entry of the model: what either keeps is one."""
        return Sequence(self.model.entry(name), self._state)

    def keys(self) -> tuple[str, ...]:
        """The names of what is kept, those of the model's inputs."""
        return tuple(self.model._program.members)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.model._program.member(self._state, name)

    def __setitem__(self, name: str, value: Any) -> None:
        self[name][...] = value

    def reset(self) -> None:
        """Begins the sequence again."""
        self._state[:] = 0

    def copy(self) -> Sequence:
        """Another sequence, which has come as far as this one."""
        state = self.model._program.new_state()
        state[:] = self._state
        return Sequence(self.model, state)

    __copy__ = copy

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle a sequence: pickle its model, and what it keeps")


class Model:
    """A compiled model. Calls may run at the same time, in as many threads as you like.

    inputs, outputs (tuples of Port): what it takes and gives. A pickle of it says what it was compiled from, a path or the
    model's bytes, with which options: it is compiled again where it is loaded, or found in the cache there. Nothing of it
    changes, so a copy is the model itself."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    def __init__(self, program: Any, facts: dict[str, Any], files: dict[str, str] | None = None, origin: Any = None) -> None:
        self._program, self._facts, self._files, self._origin = program, facts, files, origin
        self._entry: str | None = None  # the first one
        self.inputs, self.outputs = program.inputs, program.outputs
        self._names = {port.name: k for k, port in enumerate(self.inputs)}
        self._type = outputs_type(port.name for port in self.outputs)

    def __repr__(self) -> str:
        name = self._origin.source.label() if self._origin else self._program.name
        return f"<dnncc.Model {name}: {', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._origin:
            return _compile_again, (self._origin.source.pickled(), self._origin.source.digest, self._origin.given_options, self._entry)
        files = self._files or {}               # of a model that load() made
        return load, (os.path.abspath(files[".so"]), self._program.prefix, files.get(".weights"))

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self

    def _arrange(self, args, named):
        """inputs in their order"""
        if len(args) == 1 and isinstance(args[0], dict) and not named:
            args, named = (), args[0]
        if len(args) > len(self.inputs):
            raise ArgumentError(f"{len(args)} inputs for {len(self.inputs)}")
        given = [*args, *[None] * (len(self.inputs) - len(args))]
        for name, value in named.items():
            k = self._names.get(name)
            if k is None:
                raise ArgumentError(f"there is no input '{name}', but {', '.join(self._names)}")
            if k < len(args):
                raise ArgumentError(f"input '{name}' is given twice")
            given[k] = value
        lacking = [port.name for port, x in zip(self.inputs, given) if x is None]
        if lacking:
            raise ArgumentError(f"input '{lacking[0]}' is missing")
        return given

    def _results(self, arrays):
        return arrays[0] if len(self.outputs) == 1 else self._type(arrays)

    def __call__(self, *args: Any, **named: Any) -> np.ndarray | Outputs:
        """Runs the model. Inputs (arrays, lists, numbers, what has __dlpack__) by position, by name, or as one dict; floats of
        more bits than the model's are rounded, with a warning once. Returns the array of one output, or Outputs of several: of a model
        on a GPU DeviceArrays where any input lies there, else arrays of numpy's."""
        self._has_no_state()
        if named or len(args) != len(self.inputs) or type(args[0] if args else None) is dict:
            args = self._arrange(args, named)
        return self._results(self._program.run([port.take(x) for port, x in zip(self.inputs, args)]))

    def _has_no_state(self):
        if getattr(self._program, "members", None):
            raise ArgumentError("the model keeps state from one call to the next: s = model.sequence() is what to call")

    def entry(self, name: str) -> Model:
        """The model's entry of that name (entry=["prefill:N=1..512", "step:N=1"]); the model itself is the first one."""
        known = self._facts.get("entries") or []
        if name not in known:
            raise ArgumentError(f"there is no entry '{name}', but {', '.join(known)}" if known else "the model has one entry: entry=[..] gives several")
        made = Model(Library((self._files or {})[".so"], [f"{self._facts['name']}_{name}"]), self._facts, self._files, self._origin)
        made._entry = name
        return made

    def sequence(self) -> Sequence:
        """Calls that go on where the one before has ended, of a model that keeps state; they begin with zeros."""
        if not getattr(self._program, "members", None):
            raise ArgumentError("the model keeps no state: state={\"past\": \"present\"} says which input is which output's next")
        return Sequence(self)

    def run(self, inputs: dict[str, Any]) -> dict[str, np.ndarray]:
        """Runs the model: a dict of inputs by name in, a dict of outputs by name out."""
        self._has_no_state()
        given = self._arrange((), inputs)
        return self._type(self._program.run([port.take(x) for port, x in zip(self.inputs, given)]))._asdict()

    def bind(self, *arrays: Any, **named: Any) -> Bound:
        """A function without arguments that runs the model on these arrays, inputs first, then outputs, which it writes: nothing
        is checked, copied or allocated any more. Outputs that are not given are allocated once."""
        self._has_no_state()
        if any(isinstance(port, OpenPort) for port in (*self.inputs, *self.outputs)):
            raise ArgumentError("bind is for models whose extents are numbers")
        of_outputs = {port.name: k for k, port in enumerate(self.outputs)}
        outputs = [*arrays[len(self.inputs):], *[None] * len(self.outputs)][:max(len(self.outputs), len(arrays) - len(self.inputs))]
        for name in [n for n in named if n in of_outputs and n not in self._names]:
            outputs[of_outputs[name]] = named.pop(name)
        if len(outputs) > len(self.outputs):
            raise ArgumentError(f"{len(arrays)} arrays for {len(self.inputs)} inputs and {len(self.outputs)} outputs")
        given = [port.hold(x, False) for port, x in zip(self.inputs, self._arrange(arrays[:len(self.inputs)], named))]
        results = [port.new() if y is None else port.hold(y, True) for port, y in zip(self.outputs, outputs)]
        for k, y in enumerate(results):
            if any(self.outputs[k].overlaps(y, other) for other in [*given, *results[:k]]):
                raise ArgumentError(f"output '{self.outputs[k].name}' overlaps another array")
        held = self._program.hold(given, results)
        return Bound(tuple(port.shown(x) for port, x in zip(self.inputs, given)),
                     self._results([port.shown(y) for port, y in zip(self.outputs, results)]), held)

    @property
    def info(self) -> dict[str, Any]:
        """What is known of it, as a dict: name, command, options, cc (str), inputs and outputs (name, dtype, shape), memory (name,
        bytes, align)."""
        def said(all):
            return [{"name": p.name, "dtype": str(p.dtype), "shape": p.shape} for p in all]
        return {**self._facts, "inputs": said(self.inputs), "outputs": said(self.outputs),
                "memory": [{"name": r[0], "bytes": r[1], "align": r[2]} for r in self._program.regions if r[3] == SCRATCH]}

    def _source(self, what):
        if not self._origin:
            raise Error(1, f"this model was loaded, not compiled: there is nothing to make {what} of")
        self._origin.source.check()
        return self._origin

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes FILE.c (FILE.cu for a GPU): the code, and the header beside it; or FILE.so: the compiled library, which load() takes."""
        path = os.fspath(path)
        if path.endswith((".c", ".cu")):
            self._source("C").run("-o", path)
        elif path.endswith(".so"):
            self._save_library(path)
        else:
            raise ArgumentError(f"save writes FILE.c or FILE.so, not '{path}'")

    def _save_library(self, path):
        if not self._files:
            raise Error(2, "there is no library file: no C compiler made this model")
        for suffix, found in self._files.items():
            copy_whole(found, os.path.splitext(path)[0] + suffix)

    def report(self) -> Report:
        """What came of the model: a page, which notebooks show. .html is its text, .save(path) writes it."""
        from ._report import make
        return make(self._source("a report"))


# ---- getting them ----

def open_built(folder, origin):
    """a folder of the cache"""
    try:
        with open(os.path.join(folder, "model.json"), encoding="utf-8") as file:
            facts = json.load(file)
    except (OSError, ValueError) as error:
        raise Error(2, f"cannot read {folder}/model.json: {error}") from None
    library = os.path.join(folder, "model.so")
    files = {".so": library}
    if os.path.exists(os.path.join(folder, "model.weights")):
        files[".weights"] = os.path.join(folder, "model.weights")
    kind = Library
    if facts.get("device"):
        from ._device import DeviceLibrary as kind
    entries = facts.get("entries")
    return Model(kind(library, [f"{facts['name']}_{entries[0]}" if entries else facts["name"]]), facts, files, origin)


def needs_device(path: str) -> bool:
    """whether a library is of CUDA C: it is linked with CUDA's runtime"""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(b"\0cudaMalloc\0") >= 0
    except (OSError, ValueError):
        return False                    # who loads it says why


def _compile_again(model: str | bytes, digest: str, options: dict[str, Any], entry: str | None = None) -> Model:
    """what a pickle says"""
    from ._build import compile_source
    from ._source import Source
    source = Source(model)
    if source.digest != digest:
        raise Error(2, f"{source.path}: error: the file has changed since the model in this pickle was compiled")
    made = compile_source(source, True, options)
    return made.entry(entry) if entry else made


def load(path: str | os.PathLike[str], name: str | None = None, weights: str | os.PathLike[str] | None = None) -> Model:
    """A Model of a compiled library. name: what its symbols begin with (default: as the file, or "model"); weights: the file
    that --weights=file wrote (default: beside it)."""
    path = os.fspath(path)
    weights = None if weights is None else os.fspath(weights)
    stem = re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    kind = Library
    if needs_device(path):
        from ._device import DeviceLibrary as kind
    library = kind(path, [name] if name else [stem, "model"], weights)
    beside = weights or os.path.splitext(path)[0] + ".weights"
    files = {".so": path, **({".weights": beside} if library.weights is not None and os.path.exists(beside) else {})}
    return Model(library, {"name": library.name}, files)
