# SPDX-License-Identifier: MIT
"""Arrays at a model's ports: types, checks, addresses."""
import ctypes

import numpy as np

from ._error import ArgumentError, Error

# ONNX TensorProto.DataType: of numpy, or (name in ml_dtypes, what holds its bits)
TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
         12: "uint32", 13: "uint64",
         16: ("bfloat16", "uint16"), 17: ("float8_e4m3fn", "uint8"), 18: ("float8_e4m3fnuz", "uint8"), 19: ("float8_e5m2", "uint8"),
         20: ("float8_e5m2fnuz", "uint8"), 21: ("uint4", "uint8"), 22: ("int4", "int8"), 23: ("float4_e2m1fn", "uint8"),
         24: ("float8_e8m0fnu", "uint8"), 25: ("uint2", "uint8"), 26: ("int2", "int8")}


def element_types(number):
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


def address(x):
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(x))          # the fastest way that there is
    except (TypeError, ValueError, BufferError):                        # read only, empty, of no type of numpy's own
        return x.__array_interface__["data"][0]


class Port:
    """An input or output: name, dtype, shape."""
    __slots__ = ("name", "dtype", "shape", "bits")

    def __init__(self, name, number, shape):
        self.name, self.shape = name, tuple(shape)
        self.dtype, self.bits = element_types(number)

    def __repr__(self):
        return f"Port({self.name!r}, {self.dtype}, {self.shape})"

    def new(self):
        return np.empty(self.shape, self.dtype)

    def as_array(self, x):
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
            if found.dtype != self.dtype and np.can_cast(found.dtype, self.dtype, "same_kind"):
                found = found.astype(self.dtype)
            return found
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"'{self.name}': {error}") from None

    def check(self, x):
        if x.dtype == self.bits != self.dtype:
            x = x.view(self.dtype) if x.flags.c_contiguous else np.ascontiguousarray(x).view(self.dtype)
        if x.dtype.newbyteorder("=") != self.dtype:
            raise ArgumentError(f"'{self.name}' is {self.dtype}, not {x.dtype}")
        if x.shape != self.shape:
            raise ArgumentError(f"'{self.name}' has the shape {self.shape}, not {x.shape}")
        return x

    def take(self, x):
        """x as run wants it: itself, or a copy that is dense, aligned, of this machine's byte order"""
        if type(x) is np.ndarray and x.dtype == self.dtype and x.shape == self.shape:
            flags = x.flags
            if flags.c_contiguous and flags.aligned:
                return x
        x = self.check(self.as_array(x))
        return np.require(x, self.dtype, ["C", "A"])

    def hold(self, x, written):
        """x itself, or an error: nothing is copied"""
        same = self.check(self.as_array(x))
        if not (same.flags.c_contiguous and same.flags.aligned and same.dtype.isnative and np.may_share_memory(same, self.as_array(x))
                or not same.size):
            raise ArgumentError(f"'{self.name}' would be copied: bind wants it dense (C order), aligned, of this machine's byte order")
        if written and not same.flags.writeable:
            raise ArgumentError(f"'{self.name}' is written to, and the array is read only")
        return same
