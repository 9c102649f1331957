# SPDX-License-Identifier: MIT
"""Arrays at a model's ports: types, checks, addresses."""
from __future__ import annotations

import ast
import ctypes
import math
import operator
import re
import sys
from typing import Any

import numpy as np

from ._error import ArgumentError, Error

# ONNX TensorProto.DataType: of numpy, or (name in ml_dtypes, what holds its bits)
TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
         12: "uint32", 13: "uint64",
         16: ("bfloat16", "uint16"), 17: ("float8_e4m3fn", "uint8"), 18: ("float8_e4m3fnuz", "uint8"), 19: ("float8_e5m2", "uint8"),
         20: ("float8_e5m2fnuz", "uint8"), 21: ("uint4", "uint8"), 22: ("int4", "int8"), 23: ("float4_e2m1fn", "uint8"),
         24: ("float8_e8m0fnu", "uint8"), 25: ("uint2", "uint8"), 26: ("int2", "int8")}


STRING = 8


def element_types(number: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """(what arrays have, what holds the same bits): the types of ml_dtypes where that is installed"""
    known = TYPES.get(number)
    if known is None:
        raise Error(4, f"the model has tensors of ONNX's type {number}, which have no form in numpy")
    if isinstance(known, str):
        return np.dtype(known), np.dtype(known)
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, known[0])), np.dtype(known[1])
    except (ImportError, AttributeError):
        return np.dtype(known[1]), np.dtype(known[1])


def address(x: np.ndarray) -> int:
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(x))          # type: ignore[arg-type]  # the fastest way that there is
    except (TypeError, ValueError, BufferError):                        # read only, empty, of no type of numpy's own
        return x.__array_interface__["data"][0]


said: set[str] = set()


def say(name: str, found: Any, dtype: Any) -> None:
    """once for each type"""
    if str(found) not in said:
        import warnings
        warnings.warn(f"'{name}' is {dtype}: what is given in {found} is rounded to it, here and from now on without a note",
                      stacklevel=6 if sys.version_info < (3, 12) else 5)
    said.add(str(found))


class Port:
    """An input or output. name (str): as in the model; dtype (numpy.dtype), shape (tuple of int): of arrays there."""
    __slots__ = ("name", "dtype", "shape", "bits")

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def __init__(self, name: str, number: int, shape: Any) -> None:
        self.name, self.shape = name, tuple(shape)
        self.dtype, self.bits = element_types(number)

    def __repr__(self) -> str:
        return f"Port({self.name!r}, {self.dtype}, {self.shape})"

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}{list(self.shape)}"

    def is_float(self) -> bool:
        """a type of floats, of ml_dtypes, too; not the bits of one"""
        return bool(np.issubdtype(self.dtype, np.floating)) or self.dtype != self.bits and "float" in self.dtype.name

    def new(self) -> np.ndarray:
        return np.empty(self.shape, self.dtype)

    def as_array(self, x: Any) -> np.ndarray:
        """arrays of others by DLPack, numbers and lists as what the port has"""
        if isinstance(x, np.ndarray):
            return x
        if hasattr(x, "__dlpack__"):
            try:
                return np.from_dlpack(x)
            except (RuntimeError, BufferError, TypeError, ValueError, AttributeError) as error:
                raise ArgumentError(f"'{self.name}' is no array that numpy can take: {error}") from None
        if hasattr(x, "__array__"):
            return np.asarray(x)
        try:
            found = np.asarray(x)
            rounded = self.is_float() and found.dtype.kind in "iu"      # numbers of Python's are no choice of a type
            return found.astype(self.dtype) if rounded or np.can_cast(found.dtype, self.dtype, "same_kind") else found
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"'{self.name}': {error}") from None

    def check(self, x: np.ndarray, may_round: bool = False) -> np.ndarray:
        if x.dtype == self.bits != self.dtype:
            x = x.view(self.dtype) if x.flags.c_contiguous else np.ascontiguousarray(x).view(self.dtype)
        if x.dtype.newbyteorder("=") != self.dtype:
            if may_round and self.is_float() and np.issubdtype(x.dtype, np.floating) and x.dtype.itemsize > self.dtype.itemsize:
                say(self.name, x.dtype, self.dtype)
                x = x.astype(self.dtype)
                return self.check(x)
            raise ArgumentError(f"'{self.name}' is {self.dtype}, not {x.dtype}")
        if not self.fits(x.shape):
            raise ArgumentError(f"'{self.name}' has the shape {self.shape}, not {x.shape}")
        return x

    def fits(self, shape: tuple[int, ...]) -> bool:
        """whether an array has the port's shape"""
        return shape == self.shape

    def take(self, x: Any) -> np.ndarray:
        """x as run wants it: itself, or a copy that is dense, aligned, of this machine's byte order"""
        if type(x) is np.ndarray and x.dtype == self.dtype and x.shape == self.shape:
            flags = x.flags
            if flags.c_contiguous and flags.aligned:
                return x
        x = self.check(self.as_array(x), True)
        return np.require(x, self.dtype, ["C", "A"])

    def shown(self, held: Any) -> Any:
        """what a bound run gives back for an array that hold() has taken"""
        return held

    def overlaps(self, a: Any, b: Any) -> bool:
        """whether two arrays that hold() has taken have memory in common"""
        return bool(np.may_share_memory(a, b))

    def hold(self, x: Any, written: bool) -> np.ndarray:
        """x itself, or an error: nothing is copied"""
        same = self.check(self.as_array(x))
        if not (same.flags.c_contiguous and same.flags.aligned and same.dtype.isnative and np.may_share_memory(same, self.as_array(x))
                or not same.size):
            raise ArgumentError(f"'{self.name}' would be copied: bind wants it dense (C order), aligned, of this machine's byte order")
        if written and not same.flags.writeable:
            raise ArgumentError(f"'{self.name}' is written to, and the array is read only")
        return same

    def pointed(self, x: Any) -> Any:
        """what an input is to generated code, for an array that take() has made"""
        return x

    def room_for(self) -> np.ndarray:
        """memory for an output"""
        return self.new()

    def found(self, y: np.ndarray) -> np.ndarray:
        """the array that such memory is to callers"""
        return y

    def stored(self, x: np.ndarray) -> np.ndarray:
        """what a file of numpy's has for an array that take() has made"""
        return x.view(self.bits)

    def loaded(self, y: np.ndarray) -> np.ndarray:
        """the array of a file that dnncc has written"""
        return y.view(self.dtype)


def names_in(extent: int | str) -> list[str]:
    """the names of extents in a term, as often as they stand there"""
    return re.findall(r"[^\W\d]\w*(?![\w(])", extent) if isinstance(extent, str) else []


def term_value(text: str, extents: dict[str, int]) -> int:
    """an extent of a call, a term as generated code's descriptor has it: names, numbers, + - * / (rounds down), max, min"""
    kinds = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: lambda a, b: a // b if b else 0}

    def value(node: Any) -> int:
        if isinstance(node, ast.BinOp):
            return kinds[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Call):
            return {"max": max, "min": min}[node.func.id](*map(value, node.args))           # type: ignore[attr-defined]
        return extents[node.id] if isinstance(node, ast.Name) else int(node.value)
    return value(ast.parse(text, mode="eval").body)


def solved(text: str, name: str, value: int, extents: dict[str, int]) -> int | None:
    """the only extent that gives a term this value; terms do not fall"""
    def at(extent: int) -> int:
        return term_value(text, {**extents, name: extent})
    low, high = 0, 1
    while at(high) <= value and high < 1 << 31:
        low, high = high, 2 * high
    low = 0
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if at(middle) < value else (low, middle)
    return low if at(low) == value and at(low + 1) != value else None


class OpenPort(Port):
    """An input or output some of whose extents each call gives. In its shape these are texts: "N", or a term, "max(N - 2, 0)"."""
    __slots__ = ("bounds",)

    bounds: tuple[int, ...]

    def __init__(self, name: str, number: int, shape: Any, symbols: Any) -> None:
        super().__init__(name, number, [symbol or extent for symbol, extent in zip(symbols, shape)])
        self.bounds = tuple(shape)

    def fits(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == len(self.shape) and all(isinstance(want, str) or want == have for want, have in zip(self.shape, shape))

    def learn(self, shape: tuple[int, ...], extents: dict[str, int]) -> None:
        """takes the extents of a call that an array says"""
        for want, have in zip(self.shape, shape):
            if isinstance(want, str) and want.isidentifier() and extents.setdefault(want, have) != have:
                raise ArgumentError(f"'{self.name}': extent {want} is {have} here, and {extents[want]} before")

    def solve(self, shape: tuple[int, ...], extents: dict[str, int]) -> None:
        """takes extents that a term of this shape tells, "32 * H", where no array says them alone"""
        for want, have in zip(self.shape, shape):
            unknown = [name for name in names_in(want) if name not in extents]
            found = solved(str(want), unknown[0], have, extents) if len(unknown) == 1 else None
            if found is not None:
                extents[unknown[0]] = found

    def unknown(self, extents: dict[str, int]) -> list[str]:
        """names in its shape that have no extent yet"""
        return [name for extent in self.shape for name in names_in(extent) if name not in extents]

    def shape_in(self, extents: dict[str, int]) -> tuple[int, ...]:
        """its shape in a call with these extents"""
        return tuple(term_value(extent, extents) if isinstance(extent, str) else extent for extent in self.shape)


    def cut(self, y: np.ndarray, extents: dict[str, int]) -> np.ndarray:
        """what a call that has told these extents has left in an array at the bounds: it lies dense at the beginning"""
        shape = self.shape_in(extents)
        return y if shape == y.shape else y.reshape(-1)[:int(np.prod(shape, dtype=np.int64))].reshape(shape).copy()


def counted_names(inputs: Any, outputs: Any) -> list[str]:
    """the extents that a call tells, in the order in which it does: as outputs name them first"""
    def names(ports: Any) -> list[str]:
        return [name for port in ports if isinstance(port, OpenPort) for extent in port.shape for name in names_in(extent)]
    given = set(names(inputs))
    return [name for name in dict.fromkeys(names(outputs)) if name not in given]


class TextPort(Port):
    """An input or output of texts: arrays of str (dtype object). room (int): bytes of each, its NUL included."""
    __slots__ = ("room",)

    room: int

    def __init__(self, name: str, shape: Any, room: int) -> None:
        self.name, self.shape, self.room = name, tuple(shape), room
        self.dtype = self.bits = np.dtype(object)

    def __str__(self) -> str:
        return f"{self.name} text{list(self.shape)}"

    def as_array(self, x: Any) -> np.ndarray:
        return np.asarray(x, object)

    def encode(self, text: Any) -> bytes:
        if not isinstance(text, (str, bytes)):
            raise ArgumentError(f"'{self.name}' is of texts, not {type(text).__name__}")
        data = text.encode() if isinstance(text, str) else bytes(text)
        if b"\0" in data or len(data) >= self.room:
            raise ArgumentError(f"'{self.name}': {text!r} has {len(data)} bytes of UTF-8, want at most {self.room - 1}, none of them NUL")
        return data

    def take(self, x: Any) -> np.ndarray:
        """texts as bytes of UTF-8"""
        x = self.check(self.as_array(x))
        taken = np.empty(x.size, object)
        taken[:] = [self.encode(text) for text in x.reshape(-1).tolist()]
        return taken.reshape(self.shape)

    def pointed(self, x: Any) -> Any:
        return (ctypes.c_char_p * max(1, x.size))(*x.reshape(-1).tolist())

    def room_for(self) -> np.ndarray:
        return np.empty((*self.shape, self.room), np.uint8)

    def stored(self, x: np.ndarray) -> np.ndarray:
        return x.astype(f"S{self.room}")

    def loaded(self, y: np.ndarray) -> np.ndarray:
        return self.found(y.astype(f"S{self.room}").reshape(-1).view(np.uint8))

    def found(self, y: np.ndarray) -> np.ndarray:
        rows = np.frombuffer(y.tobytes(), f"S{self.room}") if y.size else np.empty(0, "S1")
        texts = np.empty(rows.size, object)
        texts[:] = [row.decode("utf-8", "replace") for row in rows.tolist()]
        return texts.reshape(self.shape)

    def hold(self, x: Any, written: bool) -> np.ndarray:
        raise ArgumentError(f"bind is for arrays of numbers, and '{self.name}' is of texts")


def port_of(name: str, number: int, shape: Any, size: int) -> Port:
    """size: bytes of all elements"""
    if number != STRING:
        return Port(name, number, shape)
    return TextPort(name, shape, size // max(1, math.prod(shape)))
