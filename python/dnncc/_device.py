# SPDX-License-Identifier: MIT
"""Models on a GPU (target="cuda-sm_90"): compiled by nvcc, run through CUDA's own runtime, which comes with the library. Arrays of the
device come and go by DLPack (github.com/dmlc/dlpack): torch's, CuPy's, JAX's; those of numpy are copied there and back."""
from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any

import numpy as np

from ._arrays import Port
from ._error import ArgumentError, Error
from ._model import SCRATCH, WEIGHTS, Library, fail

CUDA, MANAGED = 2, 13                   # kinds of devices of DLPack
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3         # cudaMemcpyKind
LEGACY_STREAM = 1                       # of __dlpack__: the default stream, on which models run
CODES = {"i": 0, "u": 1, "f": 2, "b": 6}        # DLDataTypeCode of numpy's kinds; bfloat16 is BFLOAT
BFLOAT = 4


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


api = ctypes.pythonapi
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, DELETER)(("PyCapsule_New", api))
pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
is_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", api))
pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
TENSOR = b"dltensor"                    # a capsule's name until somebody has taken the tensor

exported: dict[int, tuple[Any, ...]] = {}       # what tensors that others hold need, by their address


@DELETER
def forget(address: int) -> None:
    exported.pop(address, None)


@DELETER
def destroy(capsule: int) -> None:
    """of a capsule, which is no object any more that could be counted: nobody has taken its tensor"""
    if is_capsule(capsule, TENSOR):
        forget(pointer_of(capsule, TENSOR))


def type_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    """(code, bits) in DLPack; types of ml_dtypes but bfloat16 are their bits"""
    if dtype.name == "bfloat16":
        return BFLOAT, 16
    return CODES.get(dtype.kind, CODES["u"]), 8 * dtype.itemsize


class DeviceArray:
    """A dense array in a GPU's memory: torch.from_dlpack(y), cupy.from_dlpack(y), or y.numpy(), which copies it.

    dtype (numpy.dtype), shape (tuple of int), device (int): its number."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    device: int

    def __init__(self, memory: Memory, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.dtype, self.shape, self.device = dtype, shape, memory.runtime.device
        self._memory, self.address = memory, memory.address

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}{list(self.shape)}, device {self.device})"

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(self, *, stream: Any = None, **_ignored: Any) -> Any:
        """whatever wrote it has ended: no stream has to wait"""
        rank = len(self.shape)
        extents = (ctypes.c_int64 * max(1, rank))(*self.shape)
        code, bits = type_of(self.dtype)
        managed = DLManagedTensor(DLTensor(self.address, CUDA, self.device, rank, code, bits, 1, extents, None, 0), None, forget)
        address = ctypes.addressof(managed)
        exported[address] = self, managed, extents
        return new_capsule(address, TENSOR, destroy)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3, "strides": None}

    def numpy(self) -> np.ndarray:
        """A copy of it as an array of numpy's."""
        y = np.empty(self.shape, self.dtype)
        self._memory.runtime.copy(y.ctypes.data, self.address, y.nbytes, TO_HOST)
        return y

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)


class Given:
    """an array of the device's that the user has: where it lies, and what keeps it there"""

    def __init__(self, array: Any, address: int, bytes: int, keeps: Any) -> None:
        self.array, self.address, self.bytes, self.keeps = array, address, bytes, keeps


# ---- CUDA's runtime ----

class Runtime:
    """the functions of CUDA's that the library is linked with; it stays loaded as long as anything is in the device's memory"""

    def __init__(self, library: ctypes.CDLL, loaded: Any) -> None:
        self.library, self.loaded = library, loaded
        number = ctypes.c_int()
        self.check(library.cudaGetDevice(ctypes.byref(number)), "cudaGetDevice")
        self.device = number.value

    def check(self, code: int, what: str) -> None:
        if code:
            text = self.library.cudaGetErrorString
            text.restype = ctypes.c_char_p
            raise Error(2, f"{what}: CUDA's error {code}: {text(code).decode(errors='replace')}")

    def copy(self, to: int, source: int, bytes: int, kind: int) -> None:
        if bytes:
            self.check(self.library.cudaMemcpy(ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(bytes), ctypes.c_int(kind)), "cudaMemcpy")


class Memory:
    """of the device, freed with this object"""

    def __init__(self, runtime: Runtime, bytes: int) -> None:
        found = ctypes.c_void_p()
        runtime.check(runtime.library.cudaMalloc(ctypes.byref(found), ctypes.c_size_t(max(1, bytes))), f"cudaMalloc of {bytes} bytes")
        self.runtime, self.address = runtime, found.value or 0
        weakref.finalize(self, free, runtime, self.address).atexit = False


def free(runtime: Runtime, address: int) -> None:
    runtime.library.cudaFree(ctypes.c_void_p(address))


# ---- ports ----

class DevicePort(Port):
    """a Port of a model on a GPU"""
    __slots__ = ("runtime",)

    runtime: Runtime

    def bytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def given(self, x: Any) -> Given | None:
        """None: it is not in a device's memory"""
        if isinstance(x, np.ndarray) or not hasattr(x, "__dlpack_device__") or int(x.__dlpack_device__()[0]) not in (CUDA, MANAGED):
            return None
        capsule = x.__dlpack__(stream=LEGACY_STREAM)
        t = ctypes.cast(pointer_in(capsule, TENSOR), ctypes.POINTER(DLManagedTensor)).contents.tensor
        shape = tuple(t.shape[:t.ndim]) if t.ndim else ()
        if (t.code, t.bits) not in (type_of(self.dtype), type_of(self.bits)) or t.lanes != 1:
            raise ArgumentError(f"'{self.name}' is {self.dtype}, not what is given (DLPack's type {t.code} of {t.bits} bits)")
        if shape != self.shape:
            raise ArgumentError(f"'{self.name}' has the shape {self.shape}, not {shape}")
        strides = [int(np.prod(shape[k + 1:], dtype=np.int64)) for k in range(len(shape))]
        if t.strides and any(n > 1 and t.strides[k] != strides[k] for k, n in enumerate(shape)) and 0 not in shape:
            raise ArgumentError(f"'{self.name}' has to be dense (C order) on the device")
        if t.device != self.runtime.device:
            raise ArgumentError(f"'{self.name}' is on device {t.device}, and the model on device {self.runtime.device}")
        return Given(x, (t.data or 0) + t.byte_offset, self.bytes(), capsule)

    def take(self, x: Any) -> Any:
        return self.given(x) or super().take(x)

    def new(self) -> Any:
        return DeviceArray(Memory(self.runtime, self.bytes()), self.dtype, self.shape)

    def hold(self, x: Any, written: bool) -> Any:
        found = self.given(x)
        if not found:
            raise ArgumentError(f"'{self.name}' would be copied: bind wants arrays in the device's memory")
        return found

    def shown(self, held: Any) -> Any:
        return held.array if isinstance(held, Given) else held

    def overlaps(self, a: Any, b: Any) -> bool:
        def extent(x: Any) -> tuple[int, int]:
            bytes = x.bytes if isinstance(x, Given) else int(np.prod(x.shape, dtype=np.int64)) * x.dtype.itemsize
            return x.address, x.address + bytes
        (start, end), (first, last) = extent(a), extent(b)
        return start < last and first < end


# ---- what runs ----

class DeviceLibrary(Library):
    """As Library, on the device that is current when it is loaded."""

    def make_ports(self, tensors: Any, count: int) -> tuple[Port, ...]:
        found = tuple(DevicePort(t.name.decode(), t.type, t.shape[:t.rank] if t.rank else ()) for t in tensors[:count])
        for port in found:
            port.runtime = self.runtime
        return found

    def begin(self, library: ctypes.CDLL) -> None:
        self.check(getattr(library, f"{self.prefix}_prepare")())
        self.runtime = Runtime(library, self.loaded)
        self.library = library

    def map_weights(self, path: str, weights: Any) -> Any:
        """in the device's memory: from the library, or from the file beside it"""
        size = next((r[1] for r in self.regions if r[3] == WEIGHTS), None)
        if size is None:
            return None
        memory, load = Memory(self.runtime, size), getattr(self.library, f"{self.prefix}_load")
        if weights or os.path.exists(os.path.splitext(path)[0] + ".weights"):
            self.file = super().map_weights(path, weights)
            self.check(load(ctypes.c_void_p(memory.address), ctypes.c_void_p(self.file.ctypes.data), None))
        else:
            self.check(load(ctypes.c_void_p(memory.address), None))
        return memory

    def check(self, code: int) -> None:
        if code:
            fail(code)

    def new_lane(self) -> Any:
        memory = [self.weights if kind == WEIGHTS else Memory(self.runtime, size) for _, size, _, kind in self.regions if kind in (SCRATCH, WEIGHTS)]
        pointers = (ctypes.c_void_p * max(1, len(memory)))(*[m.address for m in memory])
        inputs = (ctypes.c_void_p * max(1, len(self.inputs)))()
        outputs = (ctypes.c_void_p * max(1, len(self.outputs)))()
        copies: list[Any] = [None] * len(self.inputs)           # of inputs that come from the host
        return inputs, outputs, ctypes.addressof(pointers), ctypes.addressof(inputs), ctypes.addressof(outputs), (pointers, memory, copies)

    def run(self, arrays: Any, state: Any = None) -> Any:
        if state is not None:
            raise Error(4, "sequences of a model on a GPU are for C: its state lies in the device's memory, which this package does not give")
        try:
            lane = self.lanes.pop()
        except IndexError:
            lane = self.new_lane()
        inputs, outputs, at_regions, at_inputs, at_outputs, (_, _, copies) = lane
        from_host = not any(isinstance(x, Given) for x in arrays)
        for k, (port, x) in enumerate(zip(self.inputs, arrays)):
            if isinstance(x, Given):
                inputs[k] = x.address
                continue
            copies[k] = copies[k] or Memory(self.runtime, port.bytes())
            self.runtime.copy(copies[k].address, x.ctypes.data, x.nbytes, TO_DEVICE)
            inputs[k] = copies[k].address
        results = [port.new() for port in self.outputs]
        for k, y in enumerate(results):
            outputs[k] = y.address
        code = self.function(at_regions, at_inputs, at_outputs, None)
        self.lanes.append(lane)
        self.check(code)
        return [y.numpy() for y in results] if from_host else results

    def hold(self, given: Any, results: Any) -> Any:
        lane = self.new_lane()
        for slots, arrays in ((lane[0], given), (lane[1], results)):
            for k, x in enumerate(arrays):
                slots[k] = x.address
        return self.function, lane[2:5], (self, lane, given, results)


