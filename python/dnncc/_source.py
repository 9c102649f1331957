# SPDX-License-Identifier: MIT
"""What is compiled: a file, or bytes."""
from __future__ import annotations

import hashlib
import os
import sys
from typing import Any

from ._error import ArgumentError, Error, cannot_read
from ._files import folder_for


def digest_file(path: str) -> str:
    found, block = hashlib.sha256(), memoryview(bytearray(1 << 18))
    try:
        with open(path, "rb", buffering=0) as file:
            while size := file.readinto(block):
                found.update(block[:size])
    except OSError as error:
        raise cannot_read(path, error) from None
    return found.hexdigest()


def export_module(module: Any, example: Any, folder: str) -> str:
    """a torch.nn.Module as a file of ONNX, perhaps with its data beside it"""
    import torch  # type: ignore[import-not-found, unused-ignore]
    if example is None:
        raise ArgumentError("a torch module wants example inputs: dnncc.compile(module, (x,))")
    path = os.path.join(folder, "model.onnx")
    was_training = module.training
    try:
        torch.onnx.export(module.eval(), example if isinstance(example, tuple) else (example,), path)
    finally:
        module.train(was_training)
    return path


def export_estimator(estimator: Any, example: Any) -> bytes:
    """an estimator of scikit-learn as an ONNX file, for rows as many as the example has; probabilities are one array"""
    try:
        from skl2onnx import to_onnx  # type: ignore[import-not-found, import-untyped, unused-ignore]
        from skl2onnx.common.data_types import guess_data_type  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise Error(2, "what writes estimators as ONNX is not installed: pip install dnncc[sklearn]") from None
    import numpy as np
    if example is None:
        raise ArgumentError("an estimator wants example inputs: dnncc.compile(estimator, X[:1])")
    x = np.asarray(example)
    x = x.astype(np.float32) if x.dtype == np.float64 else x            # as arrays at a model's inputs are
    (name, kind), = guess_data_type(x)
    kind.shape = list(x.shape)
    options = {id(estimator): {"zipmap": False}} if hasattr(estimator, "classes_") else None
    return to_onnx(estimator, initial_types=[(name, kind)], options=options).SerializeToString()


def is_of(model: Any, module: str, name: str) -> bool:
    """whether a model is of a class of a package that is loaded: else nobody can have made one"""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(model, getattr(loaded, name, ()))


class Source:
    """path, or data; digest: of the model's own bytes; exported: path is a temporary file of this object's"""

    def __init__(self, model: Any, example: Any = None) -> None:
        self.path: str | None = None
        self.data: bytes | None = None
        self.exported = False
        if isinstance(model, (str, os.PathLike)):
            self.path = os.fspath(model)
        elif isinstance(model, (bytes, bytearray, memoryview)):
            self.data = bytes(model)
        elif hasattr(model, "SerializeToString"):
            self.data = model.SerializeToString()
        elif is_of(model, "torch.nn", "Module"):
            self.path = export_module(model, example, folder_for(self))
            self.exported = True
            if len(os.listdir(os.path.dirname(self.path))) == 1:        # no data beside it
                with open(self.path, "rb") as file:
                    self.data, self.path, self.exported = file.read(), None, False
        elif is_of(model, "sklearn.base", "BaseEstimator"):
            self.data = export_estimator(model, example)
        else:
            raise ArgumentError("a model is a path, the bytes of an ONNX file, an onnx.ModelProto, a torch module or an estimator of "
                                f"scikit-learn, not {type(model).__name__}")
        self.digest = digest_file(self.path) if self.path is not None else hashlib.sha256(self.data or b"").hexdigest()

    @property
    def argument(self) -> str:
        """what the command line is given"""
        return "-" if self.path is None else "./" + self.path if self.path.startswith("-") else self.path

    def label(self) -> str:
        """what people call it"""
        return os.path.basename(self.path) if self.path is not None and not self.exported else "model"

    def pickled(self) -> str | bytes:
        """what a Source is made of again: a file by its absolute path"""
        if self.exported:
            raise TypeError("cannot pickle a model that was exported from torch with its data beside it: "
                            "pickle the module, or save the model (.so) and load it")
        return os.path.abspath(self.path) if self.path is not None else self.data or b""

    def check(self) -> None:
        """the file is still what it was"""
        if self.path is not None and digest_file(self.path) != self.digest:
            raise Error(2, f"{self.path}: error: the file has changed since it was compiled")
