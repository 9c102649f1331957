# SPDX-License-Identifier: MIT
"""Training: the entries train, infer and init that --train makes, on one state."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._error import ArgumentError, Error, cannot_read
from ._files import write_whole
from ._model import Model, Outputs, Sequence


class Training:
    """A model in training. net["w1"] is an array of its weight w1, to read and to set: the optimizer's, as net["w1.m"], and the
    number of steps, net["step"], likewise. One call at a time."""

    model: Model

    def __init__(self, model: Model) -> None:
        entries = model.info.get("entries") or []
        if "train" not in entries or "init" not in entries:
            raise ArgumentError("the model has no entries train and init: train() compiles it with them")
        self.model = model
        self._train = model.entry("train").sequence()
        self._init = self._train.entry("init")
        self._infer: Sequence | None = self._train.entry("infer") if "infer" in entries else None
        self.reset()

    def step(self, *args: Any, **named: Any) -> float:
        """A step of training by these samples: inputs by position, by name, or as one dict, then the labels and the rate, where the
        model wants them. Returns the loss in front of the step."""
        return float(np.asarray(self._train(*args, **named)).reshape(()))

    def __call__(self, *args: Any, **named: Any) -> np.ndarray | Outputs:
        """The model's outputs but for the loss, with the weights of now."""
        if self._infer is None:
            raise ArgumentError("the model has no output but the loss")
        return self._infer(*args, **named)

    def reset(self) -> None:
        """Begins again, with the weights of the model that was compiled."""
        self._train.reset()
        self._init()

    def keys(self) -> tuple[str, ...]:
        """The names of weights, of the optimizer's tensors, and "step"."""
        return self._train.keys()

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.keys():
            raise KeyError(name)
        return self._train[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self[name][...] = value

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all that steps keep to FILE.npz, for load."""
        path = os.fspath(path)
        if not path.endswith(".npz"):
            raise ArgumentError(f"save writes FILE.npz, not '{path}'")
        write_whole(path, self._write)

    def _write(self, path: str) -> None:
        import zipfile                  # numpy.savez takes some names as its own arguments
        with zipfile.ZipFile(path, "w") as archive:
            for name in self.keys():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.array(self[name]), allow_pickle=False)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Goes on with what save wrote. A file of other names or shapes changes nothing."""
        path = os.fspath(path)
        arrays = read_arrays(path)
        for name in self.keys():
            if name not in arrays:
                raise ArgumentError(f"{path} has no '{name}'")
            if arrays[name].shape != self[name].shape or arrays[name].dtype != self[name].dtype:
                raise ArgumentError(f"{path}: '{name}' is {arrays[name].dtype} {arrays[name].shape}, "
                                    f"want {self[name].dtype} {self[name].shape}")
        for name in self.keys():
            self[name] = arrays[name]

    def export(self, path: str | os.PathLike[str]) -> None:
        """Writes the ONNX model that was compiled, with the weights of now (not the means of them that ema= keeps)."""
        try:
            import onnx  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise Error(2, "what writes ONNX is not installed: pip install onnx") from None
        origin = self.model._source("ONNX")
        source = origin.source
        try:
            proto = onnx.load(source.path) if source.path is not None else onnx.load_from_string(source.data)
        except Exception:               # of protobuf
            raise Error(4, f"{source.label()} is no ONNX file") from None
        for tensor in proto.graph.initializer:
            if tensor.name in self.keys():
                tensor.CopyFrom(onnx.numpy_helper.from_array(np.array(self[tensor.name]), tensor.name))
        write_whole(os.fspath(path), lambda temporary: onnx.save(proto, temporary))


def read_arrays(path: str) -> dict[str, np.ndarray]:
    """the arrays of FILE.npz by name"""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise cannot_read(path, error) from None
    except Exception:                   # of numpy, zipfile and zlib; a file of one array is no context manager
        raise ArgumentError(f"{path} is no file that save wrote") from None


def train(model: Any, example: Any, cache: bool, options: dict[str, Any]) -> Training:
    from . import _build
    return Training(_build.compile(model, example, cache, options))
